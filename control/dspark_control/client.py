"""Channels to the control service, the same for the agent, the CLI and tests.

Without TLS only a loopback address is allowed. Keepalive pings find a dead peer within
half a minute; the service's limits are set to allow them.
"""

from dataclasses import dataclass
from pathlib import Path

import grpc

from dspark_control.net import parse_address

KEEPALIVE_SECONDS = 20
"""How often an idle channel pings."""

KEEPALIVE_TIMEOUT_SECONDS = 10
"""How long a ping may go unanswered before the connection counts as dead."""

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Largest message in either direction; the largest table has about 1.5 MiB."""

Options = list[tuple[str, int | str]]


@dataclass(frozen=True)
class TlsFiles:
    """PEM files of a client: the CA that signed the service, and its own pair for mTLS."""

    ca: Path
    cert: Path | None = None
    key: Path | None = None
    server_name: str = ""
    """Name in the service's certificate, when it is not the host of the target."""


def channel_options(server_name: str = "") -> Options:
    """gRPC options of a client channel."""
    options: Options = [
        ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_reconnect_backoff_ms", 10_000),
    ]
    if server_name:
        options.append(("grpc.ssl_target_name_override", server_name))
    return options


def open_channel(target: str, tls: TlsFiles | None = None) -> grpc.Channel:
    """A channel to `target`.

    ValueError when the address is malformed, when it is not loopback and there is no TLS, or
    when a TLS file cannot be used. Connecting itself happens with the first call.
    """
    address = parse_address(target)
    if tls is not None:
        options = channel_options(tls.server_name)
        return grpc.secure_channel(target, _credentials(tls), options)
    if not address.is_loopback:
        raise ValueError(
            f"server is {target!r}, which is not on this machine: give the TLS files "
            f"(at least the CA), or use a loopback address"
        )
    options = [*channel_options(), ("grpc.enable_http_proxy", 0)]
    return grpc.insecure_channel(target, options)


def _credentials(tls: TlsFiles) -> grpc.ChannelCredentials:
    if (tls.cert is None) != (tls.key is None):
        raise ValueError("TLS cert and key come together; give both or neither")
    return grpc.ssl_channel_credentials(
        root_certificates=read_pem(tls.ca),
        private_key=read_pem(tls.key) if tls.key else None,
        certificate_chain=read_pem(tls.cert) if tls.cert else None,
    )


def read_pem(path: Path) -> bytes:
    """The bytes of a PEM file; ValueError when it cannot be read or is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"TLS file {path} cannot be read: {error.strerror}") from error
    if b"-----BEGIN " not in data:
        raise ValueError(f"TLS file {path} is not PEM; it must hold a '-----BEGIN' line")
    return data
