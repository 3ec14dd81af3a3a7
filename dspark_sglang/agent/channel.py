"""How the agent reaches the control service: a fresh channel per attempt, quick to give up.

A new channel resolves the name again and inherits no backoff: waiting between attempts is
the agent's business. Everything else is as for every client of the service.
"""

import grpc

from dspark_control.client import Options, channel_options, read_pem
from dspark_sglang.settings import Settings

CONNECT_MILLISECONDS = 3_000
"""Longest connection attempt, so that a service that returns is found within 10 s."""

FRESH_OPTIONS: Options = [
    ("grpc.min_reconnect_backoff_ms", CONNECT_MILLISECONDS),
    ("grpc.use_local_subchannel_pool", 1),
]


def open_worker_channel(settings: Settings) -> grpc.Channel:
    """A channel to the control endpoint; raises ValueError for a TLS file it cannot use."""
    options = [*channel_options(), *FRESH_OPTIONS]
    if settings.tls_ca is None:  # the settings allow it on loopback only
        options.append(("grpc.enable_http_proxy", 0))
        return grpc.insecure_channel(settings.control_endpoint, options)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=read_pem(settings.tls_ca),
        private_key=read_pem(settings.tls_key) if settings.tls_key else None,
        certificate_chain=read_pem(settings.tls_cert) if settings.tls_cert else None,
    )
    return grpc.secure_channel(settings.control_endpoint, credentials, options)
