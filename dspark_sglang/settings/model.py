"""The settings of a worker and what makes them wrong.

One frozen object that is built once: nothing in the engine reads the environment
later, so that what was logged at start is what runs.
"""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dspark_control.core.names import MAX_ID, labels_fault, text_fault
from dspark_control.net import parse_address

MAX_WORKER_ID = MAX_ID - len("/dp9999")
"""Longest id of an engine: its data-parallel replicas append their number to it."""


class SettingsError(ValueError):
    """The settings are wrong; the message names each source, value and remedy."""


def default_state_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's folder for state by the XDG rules, a temporary one for a user without a home."""
    own = environ.get("XDG_STATE_HOME", "")
    if own.startswith("/"):
        return Path(own) / "dspark-sglang"
    try:
        return Path.home() / ".local" / "state" / "dspark-sglang"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"dspark-sglang-{os.getuid()}"


@dataclass(frozen=True)
class Settings:
    """What an operator can set on a worker, by `DSPARK_*` or the YAML file."""

    control_endpoint: str = ""
    """host:port of the control service; empty for none."""

    worker_id: str = ""
    """Name of this engine, unique in the fleet; by default host:port of the engine."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that bindings select on: "k=v,k2=v2" in the environment, a mapping in the file."""

    state_dir: Path = field(default_factory=default_state_dir)
    """Folder for the last known good snapshot."""

    heartbeat_seconds: float = 5.0
    """How often the worker says that it lives; after three of these without a word from the
    service the stream counts as dead, so the service's own interval must be shorter than that."""

    backoff_initial_seconds: float = 0.2
    """Upper bound of the first random wait before a reconnect."""

    backoff_max_seconds: float = 5.0
    """Upper bound that the wait grows to."""

    apply_timeout_seconds: float = 30.0
    """Time the engine has to apply a snapshot before it is answered as failed."""

    tls_ca: Path | None = None
    """PEM file of the authority that signed the service's certificate; turns TLS on."""

    tls_cert: Path | None = None
    """PEM file of the worker's own certificate, for mutual TLS."""

    tls_key: Path | None = None
    """PEM file of the key of that certificate."""

    upstream_worker: bool = False
    """Run SGLang's own speculative worker untouched, to compare with."""


def wrong_control_endpoint(settings: Settings) -> str | None:
    """Why the endpoint cannot be used, or None."""
    endpoint = settings.control_endpoint
    if not endpoint:
        return None
    try:
        address = parse_address(endpoint)
    except ValueError as error:
        return str(error)
    if address.port == 0 and not address.is_unix:
        return f"{endpoint!r} has port 0: give the port that the service listens on"
    if not address.is_loopback and settings.tls_ca is None:
        return (
            f"{endpoint!r} is not on this machine and tls_ca is not set: plaintext is for loopback "
            "only. Set tls_ca (and tls_cert, tls_key when the service asks for them)"
        )
    return None


def wrong_worker_id(settings: Settings) -> str | None:
    """Why the id cannot be used, or None."""
    if not settings.worker_id:
        return None
    return text_fault("worker_id", settings.worker_id, MAX_WORKER_ID)


def wrong_seconds(settings: Settings, name: str) -> str | None:
    """Why the duration `name` cannot be used, or None."""
    seconds = getattr(settings, name)
    if 0.01 <= seconds <= 3600.0:  # false for NaN, too
        return None
    return f"{seconds!r} is out of range: use seconds from 0.01 to 3600"


def wrong_backoff_max(settings: Settings) -> str | None:
    """Why the largest wait cannot be used, or None."""
    if settings.backoff_max_seconds < settings.backoff_initial_seconds:
        return (
            f"{settings.backoff_max_seconds!r} is less than backoff_initial_seconds "
            f"({settings.backoff_initial_seconds!r}): raise it or lower the other"
        )
    return wrong_seconds(settings, "backoff_max_seconds")


def wrong_pem(settings: Settings, name: str) -> str | None:
    """Why the PEM file of `name` cannot be used, or None."""
    path: Path | None = getattr(settings, name)
    if path is None:
        return None
    try:
        begins_well = b"-----BEGIN " in path.read_bytes()
    except OSError as error:
        return f"{str(path)!r} cannot be read ({error.strerror}): name a readable PEM file"
    return None if begins_well else f"{str(path)!r} holds no PEM block: name a PEM file"


def wrong_tls(settings: Settings) -> str | None:
    """Why the three TLS files do not fit together, or None."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        return "tls_cert and tls_key belong together: set both or neither"
    if settings.tls_cert is not None and settings.tls_ca is None:
        return "tls_cert is set but tls_ca is not: set tls_ca, which turns TLS on"
    return None


def wrong_settings(settings: Settings) -> list[tuple[str, str]]:
    """Every fault of the settings as (field, reason), in the order of the fields."""
    reasons: dict[str, str | None] = {
        "control_endpoint": wrong_control_endpoint(settings),
        "worker_id": wrong_worker_id(settings),
        "labels": labels_fault("labels", settings.labels),
        "heartbeat_seconds": wrong_seconds(settings, "heartbeat_seconds"),
        "backoff_initial_seconds": wrong_seconds(settings, "backoff_initial_seconds"),
        "backoff_max_seconds": wrong_backoff_max(settings),
        "apply_timeout_seconds": wrong_seconds(settings, "apply_timeout_seconds"),
        "tls_ca": wrong_pem(settings, "tls_ca"),
        "tls_cert": wrong_pem(settings, "tls_cert") or wrong_tls(settings),
        "tls_key": wrong_pem(settings, "tls_key"),
    }
    return [(name, reason) for name, reason in reasons.items() if reason is not None]
