"""Settings, addresses, channels and trace ids: what is accepted and how refusals read."""

from pathlib import Path

import pytest

from dspark_control.client import TlsFiles, open_channel
from dspark_control.net import parse_address
from dspark_control.service.requests import trace_id_of
from dspark_control.service.settings import (
    ServerTls,
    ServiceSettings,
    default_database,
    parse_settings,
    settings_fault,
)


@pytest.mark.parametrize(
    ("text", "is_loopback"),
    [
        ("127.0.0.1:7400", True),
        ("127.1.2.3:0", True),
        ("localhost:1", True),
        ("[::1]:7400", True),
        ("unix:/run/x.sock", True),
        ("dns:///localhost:1", True),
        ("0.0.0.0:7400", False),
        ("[::]:7400", False),
        ("10.0.0.1:7400", False),
        ("control.example:7400", False),
        ("localhost.example:7400", False),
    ],
)
def test_loopback(text: str, is_loopback: bool) -> None:
    assert parse_address(text).is_loopback is is_loopback


@pytest.mark.parametrize(
    "text", ["", "7400", ":7400", "host", "host:", "host:x", "h:65536", "::1:5"]
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="must be host:port"):
        parse_address(text)


def test_only_loopback_goes_without_tls(tmp_path: Path) -> None:
    assert settings_fault(ServiceSettings()) is None
    fault = settings_fault(ServiceSettings(listen="0.0.0.0:7400"))
    assert fault is not None
    assert "--tls-cert" in fault
    anyone = ServerTls(tmp_path / "c", tmp_path / "k")
    fault = settings_fault(ServiceSettings(listen="0.0.0.0:7400", tls=anyone))
    assert fault is not None
    assert "--tls-client-ca" in fault
    meant = ServiceSettings(listen="0.0.0.0:7400", tls=anyone, allow_anonymous=True)
    assert settings_fault(meant) is None
    tls = ServerTls(tmp_path / "c", tmp_path / "k", tmp_path / "ca")
    assert settings_fault(ServiceSettings(listen="0.0.0.0:7400", tls=tls)) is None
    assert settings_fault(ServiceSettings(heartbeat_seconds=float("nan"))) is not None


def test_client_channels_follow_the_same_rule(tmp_path: Path) -> None:
    open_channel("127.0.0.1:1").close()
    with pytest.raises(ValueError, match="not on this machine"):
        open_channel("10.0.0.1:7400")
    with pytest.raises(ValueError, match="cannot be read"):
        open_channel("10.0.0.1:7400", TlsFiles(tmp_path / "none"))
    (tmp_path / "bad.pem").write_text("no pem")
    with pytest.raises(ValueError, match="is not PEM"):
        open_channel("10.0.0.1:7400", TlsFiles(tmp_path / "bad.pem"))
    with pytest.raises(ValueError, match="come together"):
        open_channel("10.0.0.1:7400", TlsFiles(tmp_path / "bad.pem", cert=tmp_path / "bad.pem"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--listen", "0.0.0.0:1"],
        ["--listen", "nonsense"],
        ["--tls-cert", "x"],
        ["--tls-client-ca", "x"],
        ["--heartbeat-seconds", "0"],
        ["--heart", "1"],
    ],
)
def test_bad_command_lines_exit_with_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_settings(arguments)
    assert caught.value.code == 2


def test_the_default_database_is_in_the_state_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    expected = f"sqlite:///{tmp_path}/dspark/dspark-control.db"
    assert default_database() == expected
    assert parse_settings([]).database == expected


def test_trace_ids() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert trace_id_of(f"00-{trace}-00f067aa0ba902b7-01") == trace
    for bad in ("", "x", f"00-{trace.upper()}-00f067aa0ba902b7-01", f"00-{'0' * 32}-{'1' * 16}-01"):
        assert trace_id_of(bad) == ""
