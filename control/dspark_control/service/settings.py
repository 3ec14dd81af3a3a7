"""The settings of the service, from its command line."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dspark_control.net import parse_address


@dataclass(frozen=True)
class ServerTls:
    """PEM files of the service; with a client CA, callers must show a certificate."""

    cert: Path
    key: Path
    client_ca: Path | None = None


@dataclass(frozen=True)
class ServiceSettings:
    """Everything that the service can be told."""

    listen: str = "127.0.0.1:7400"
    """Address to bind; port 0 takes a free one."""
    database: str = ""
    """SQLAlchemy URL; empty for a SQLite file in the user's state directory."""
    tls: ServerTls | None = None
    allow_anonymous: bool = False
    """Whether callers without a certificate may come from other machines."""
    heartbeat_seconds: float = 10.0
    accept_broken_audit_chain: bool = False
    """Whether to serve a database whose audit log does not fit its contents."""
    poll_seconds: float = 1.0
    """How often to look for what other services wrote to the same database."""
    drain_seconds: float = 5.0
    port_file: Path | None = None
    """Written with the bound port once the service is ready."""


def settings_fault(settings: ServiceSettings) -> str | None:
    """Why the service must not start, or None."""
    try:
        address = parse_address(settings.listen)
    except ValueError as error:
        return f"--listen: {error}"
    if not address.is_loopback and settings.tls is None:
        return (
            f"--listen is {settings.listen}, which others can reach: give --tls-cert and "
            f"--tls-key (and --tls-client-ca), or listen on 127.0.0.1"
        )
    is_anonymous = settings.tls is not None and settings.tls.client_ca is None
    if not address.is_loopback and is_anonymous and not settings.allow_anonymous:
        return (
            f"--listen is {settings.listen}, which others can reach, and without "
            f"--tls-client-ca any of them may write: give it, or --allow-anonymous"
        )
    for name in ("heartbeat_seconds", "poll_seconds"):
        value = getattr(settings, name)
        if not 0.05 <= value <= 3600:
            flag = "--" + name.replace("_", "-")
            return f"{flag} is {value}, but must be a number in 0.05..3600"
    return None


def default_database() -> str:
    """A SQLite file in the user's state directory (XDG)."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return f"sqlite:///{Path(state) / 'dspark' / 'dspark-control.db'}"


def parse_settings(arguments: Sequence[str] | None = None) -> ServiceSettings:
    """The settings in the command line; exits with 2 when they cannot be parsed or used."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if (parsed.tls_cert is None) != (parsed.tls_key is None):
        parser.error("--tls-cert and --tls-key come together; give both or neither")
    if parsed.tls_client_ca is not None and parsed.tls_cert is None:
        parser.error("--tls-client-ca needs --tls-cert and --tls-key")
    tls = None
    if parsed.tls_cert is not None:
        tls = ServerTls(parsed.tls_cert, parsed.tls_key, parsed.tls_client_ca)
    settings = ServiceSettings(
        listen=parsed.listen,
        database=parsed.database or default_database(),
        tls=tls,
        allow_anonymous=parsed.allow_anonymous,
        accept_broken_audit_chain=parsed.accept_broken_audit_chain,
        heartbeat_seconds=parsed.heartbeat_seconds,
        poll_seconds=parsed.poll_seconds,
        port_file=parsed.port_file,
    )
    if fault := settings_fault(settings):
        parser.error(fault)
    return settings


def _parser() -> argparse.ArgumentParser:
    defaults = ServiceSettings()
    parser = argparse.ArgumentParser(
        prog="dspark-control",
        description="Stores DSpark policies and tables and pushes them to workers.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--listen", default=defaults.listen, help="host:port to bind (default %(default)s)")
    add("--database", default="", help="SQLAlchemy URL (default a SQLite file, XDG state)")
    add("--tls-cert", type=Path, help="PEM certificate chain of the service")
    add("--tls-key", type=Path, help="PEM private key of the service")
    add("--tls-client-ca", type=Path, help="PEM CA; callers must then show a certificate")
    add("--allow-anonymous", action="store_true", help="serve other machines without client CA")
    add("--accept-broken-audit-chain", action="store_true", help="serve a damaged database")
    add("--heartbeat-seconds", type=float, default=defaults.heartbeat_seconds)
    add("--poll-seconds", type=float, default=defaults.poll_seconds)
    add("--port-file", type=Path, help="file to write the bound port into when ready")
    return parser
