"""Where settings come from, which source wins, and what is refused with which words."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from dspark_control.core.names import MAX_ID
from dspark_sglang.settings import Settings, SettingsError, default_worker_id, load_settings


def write(tmp_path: Path, text: str | bytes) -> dict[str, str]:
    path = tmp_path / "dspark.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {"DSPARK_CONFIG": str(path)}


def fault(environ: dict[str, str]) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    return str(caught.value)


def pem(tmp_path: Path, name: str) -> str:
    path = tmp_path / name
    path.write_text("-----BEGIN CERTIFICATE-----\n")
    return str(path)


def test_defaults_without_any_source():
    settings = load_settings({"XDG_STATE_HOME": "/state"})
    assert settings == Settings(state_dir=Path("/state/dspark-sglang"))
    assert settings.control_endpoint == ""
    assert not settings.upstream_worker


def test_settings_are_frozen():
    with pytest.raises(FrozenInstanceError):
        load_settings({}).worker_id = "other"  # type: ignore[misc]


def test_every_field_from_the_environment(tmp_path):
    settings = load_settings(
        {
            "DSPARK_CONTROL_ENDPOINT": "control.example:50051",
            "DSPARK_WORKER_ID": "engine-1",
            "DSPARK_LABELS": "pool=chat, gpu=h200,",
            "DSPARK_STATE_DIR": str(tmp_path),
            "DSPARK_HEARTBEAT_SECONDS": "2.5",
            "DSPARK_BACKOFF_INITIAL_SECONDS": "0.5",
            "DSPARK_BACKOFF_MAX_SECONDS": "8",
            "DSPARK_APPLY_TIMEOUT_SECONDS": "60",
            "DSPARK_TLS_CA": pem(tmp_path, "ca.pem"),
            "DSPARK_TLS_CERT": pem(tmp_path, "cert.pem"),
            "DSPARK_TLS_KEY": pem(tmp_path, "key.pem"),
            "DSPARK_UPSTREAM_WORKER": "yes",
        }
    )
    assert settings == Settings(
        control_endpoint="control.example:50051",
        worker_id="engine-1",
        labels={"pool": "chat", "gpu": "h200"},
        state_dir=tmp_path,
        heartbeat_seconds=2.5,
        backoff_initial_seconds=0.5,
        backoff_max_seconds=8.0,
        apply_timeout_seconds=60.0,
        tls_ca=tmp_path / "ca.pem",
        tls_cert=tmp_path / "cert.pem",
        tls_key=tmp_path / "key.pem",
        upstream_worker=True,
    )


def test_the_environment_wins_over_the_file(tmp_path):
    environ = write(
        tmp_path,
        "control_endpoint: '[::1]:7000'\nworker_id: from-file\nlabels: {pool: code}\n"
        "heartbeat_seconds: 1\nupstream_worker: true\ntls_ca: null\n",
    )
    settings = load_settings(environ | {"DSPARK_WORKER_ID": "from-env", "DSPARK_LABELS": ""})
    assert settings.control_endpoint == "[::1]:7000"
    assert settings.worker_id == "from-env"
    assert settings.labels == {"pool": "code"}  # an empty variable counts as not set
    assert settings.heartbeat_seconds == 1.0
    assert settings.upstream_worker
    assert settings.tls_ca is None


def test_an_empty_file_is_no_settings(tmp_path):
    assert load_settings(write(tmp_path, "# nothing\n")) == load_settings({})


def test_the_longest_id_leaves_room_for_the_number_of_a_replica():
    longest = MAX_ID - len("/dp9999")
    assert load_settings({"DSPARK_WORKER_ID": "w" * longest}).worker_id == "w" * longest
    with pytest.raises(SettingsError, match=rf"DSPARK_WORKER_ID: .*1\.\.{longest} printable"):
        load_settings({"DSPARK_WORKER_ID": "w" * (longest + 1)})


def test_the_default_id_ends_with_the_port():
    assert default_worker_id(30000).endswith(":30000")


def test_variables_of_others_are_left_alone():
    load_settings(
        {
            "SGLANG_DSPARK_STS_COLLECT_PATH": "x",
            "DSPARKCTL_ENDPOINT": "x",
            "DSPARK_CACHE": "/cache",
            "DSPARK_CONTROL_SERVICE_HOST": "10.0.0.1",
            "DSPARK_CONTROL_SERVICE_PORT": "50051",
            "DSPARK_CONTROL_SERVICE_PORT_GRPC": "50051",
            "DSPARK_CONTROL_PORT": "tcp://10.0.0.1:50051",
            "DSPARK_CONTROL_PORT_50051_TCP": "tcp://10.0.0.1:50051",
            "DSPARK_CONTROL_PORT_50051_TCP_ADDR": "10.0.0.1",
            "DSPARK_SERVICE_HOST": "10.0.0.1",
            "PATH": "/bin",
        }
    )


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("DSPARK_CONTROL_ENDPIONT", "DSPARK_CONTROL_ENDPOINT"),
        ("DSPARK_LABEL", "DSPARK_LABELS"),
        ("DSPARK_CONFG", "DSPARK_CONFIG"),
        ("DSPARK_CONTROL_PORT", "DSPARK_CONTROL_ENDPOINT"),
        ("DSPARK_PORT", "use one of"),
        ("DSPARK_worker_id", "DSPARK_WORKER_ID"),
        ("DSPARK_ZZZ", "use one of"),
    ],
)
def test_unknown_variable_names_the_nearest(variable, nearest):
    message = fault({variable: "7400"})
    assert f"{variable} is unknown" in message
    assert nearest in message


def test_unknown_key_names_the_nearest(tmp_path):
    message = fault(write(tmp_path, "control_endpont: a:1\n"))
    assert "dspark.yaml" in message
    assert "'control_endpont' is unknown: did you mean control_endpoint?" in message


def test_a_key_that_is_no_text_is_unknown(tmp_path):
    assert "key 7 is unknown" in fault(write(tmp_path, "7: a\n"))


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("DSPARK_HEARTBEAT_SECONDS", "soon", "number of seconds"),
        ("DSPARK_HEARTBEAT_SECONDS", "nan", "finite"),
        ("DSPARK_HEARTBEAT_SECONDS", "inf", "finite"),
        ("DSPARK_HEARTBEAT_SECONDS", "0", "0.01 to 3600"),
        ("DSPARK_APPLY_TIMEOUT_SECONDS", "-1.0", "0.01 to 3600"),
        ("DSPARK_BACKOFF_INITIAL_SECONDS", "4000", "0.01 to 3600"),
        ("DSPARK_BACKOFF_MAX_SECONDS", "0.1", "raise it"),
        ("DSPARK_UPSTREAM_WORKER", "maybe", "true or false"),
        ("DSPARK_STATE_DIR", "relative/dir", "absolute path"),
        ("DSPARK_LABELS", "pool", "k=v,k2=v2"),
        ("DSPARK_LABELS", "a=1,a=2", "once"),
        ("DSPARK_LABELS", "pool=a|b", "letters"),
        ("DSPARK_WORKER_ID", "a\x07b", "a line of"),
        ("DSPARK_WORKER_ID", "x" * 122, "1..121"),
        ("DSPARK_CONTROL_ENDPOINT", "localhost", "host:port"),
        ("DSPARK_CONTROL_ENDPOINT", "localhost:0", "the port that"),
        ("DSPARK_CONTROL_ENDPOINT", "localhost:65536", "host:port"),
        ("DSPARK_CONTROL_ENDPOINT", "http://localhost:1", "host:port"),
        ("DSPARK_CONTROL_ENDPOINT", "::1:50051", "host:port"),
        ("DSPARK_CONTROL_ENDPOINT", "localhost:\uff11", "host:port"),
        ("DSPARK_TLS_CA", "/nowhere/ca.pem", "readable PEM"),
    ],
)
def test_bad_value_names_variable_value_and_remedy(variable, value, remedy):
    message = fault({variable: value})
    assert message.startswith(variable)
    shown = repr(value.rpartition("=")[2]).strip("'")[:60]
    assert shown in message
    assert remedy in message


@pytest.mark.parametrize(
    "endpoint",
    ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "localhost:50051", "unix:/run/dspark.sock"],
)
def test_plaintext_is_allowed_on_loopback(endpoint):
    assert load_settings({"DSPARK_CONTROL_ENDPOINT": endpoint}).control_endpoint == endpoint


@pytest.mark.parametrize(
    "endpoint",
    ["10.0.0.1:1", "0.0.0.0:1", "control:50051", "localhost.evil.example:1", "[2001:db8::1]:1"],
)
def test_plaintext_elsewhere_is_refused(endpoint):
    message = fault({"DSPARK_CONTROL_ENDPOINT": endpoint})
    assert endpoint in message
    assert "Set tls_ca" in message


def test_tls_files_belong_together(tmp_path):
    cert = {"DSPARK_TLS_CERT": pem(tmp_path, "cert.pem")}
    assert "both or neither" in fault(cert)
    assert "set tls_ca" in fault(cert | {"DSPARK_TLS_KEY": pem(tmp_path, "key.pem")})


def test_a_tls_file_without_pem_is_refused(tmp_path):
    (tmp_path / "ca.pem").write_bytes(b"\x00")
    assert "no PEM block" in fault({"DSPARK_TLS_CA": str(tmp_path / "ca.pem")})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"a: [", "not valid YAML"),
        (b"- a\n- b\n", "does not hold a mapping"),
        (b"worker_id: a\nworker_id: b\n", "twice"),
        (b"{[1]: 2}", "not valid YAML"),
        (b"worker_id: !!python/object:os.system x", "not valid YAML"),
        (b"[" * 5000, "not valid YAML"),
        (b"#" * ((1 << 20) + 1), "larger than"),
        (b"worker_id: 12", "12 is not valid: give text"),
        (b"heartbeat_seconds: true", "True is not valid"),
        (b"labels: {a: 1}", "quote 'a': 1"),
        (b"labels: [a]", "mapping of names to text"),
        (b"upstream_worker: 2", "true or false"),
    ],
)
def test_bad_files_are_named_with_a_remedy(tmp_path, text, words):
    message = fault(write(tmp_path, text))
    assert "dspark.yaml" in message
    assert words in message


def test_a_missing_file_is_an_error(tmp_path):
    missing = str(tmp_path / "none.yaml")
    message = fault({"DSPARK_CONFIG": missing})
    assert missing in message
    assert "DSPARK_CONFIG" in message


def test_all_faults_are_named_at_once(tmp_path):
    message = fault(
        write(tmp_path, "labls: {}\n")
        | {"DSPARK_UPSTREAM_WORKER": "2", "DSPARK_HEARTBEAT_SECOND": "1"}
    )
    for name in ("labls", "DSPARK_UPSTREAM_WORKER", "DSPARK_HEARTBEAT_SECONDS"):
        assert name in message


def test_a_user_without_a_home_still_has_a_state_dir(monkeypatch):
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert load_settings({}).state_dir.is_absolute()
