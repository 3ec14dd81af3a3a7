"""`dspark-control` as a process: signals, ports, TLS, a full disk, files that are no database."""

import fcntl
import ipaddress
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from control_helpers import (
    SECONDS,
    Service,
    WatchClient,
    connected,
    hello,
    read_port,
    service_process,
    start_process,
)

from dspark.control.v1 import admin_pb2
from dspark.control.v1.admin_pb2_grpc import AdminServiceStub
from dspark_control.client import TlsFiles, open_channel
from dspark_control.core import SchedulingPolicy
from dspark_control.store import Store


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_streams_and_the_process(tmp_path: Path, number: int) -> None:
    process = start_process(tmp_path)
    try:
        port = read_port(process, tmp_path)
        with connected(f"127.0.0.1:{port}", process.pid) as service:
            client = WatchClient(service, hello())
            client.apply()
            started = time.monotonic()
            process.send_signal(number)
            assert client.end()[0] is grpc.StatusCode.UNAVAILABLE
            _, errors = process.communicate(timeout=SECONDS)
            assert process.returncode == 0
            assert time.monotonic() - started < 10
        assert "ready" in errors
        assert errors.rstrip().endswith("stopped")
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()
    database = tmp_path / "control.db"
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_two_services_do_not_share_a_port(tmp_path: Path) -> None:
    with service_process(tmp_path / "one") as service:
        _assert_refused(tmp_path, 1, "cannot listen", "--listen", service.target)


def test_other_machines_only_with_tls(tmp_path: Path) -> None:
    _assert_refused(tmp_path, 2, "--tls-cert", "--listen", "0.0.0.0:0")
    bad = tmp_path / "bad.pem"
    bad.write_text("x")
    files = ("--tls-cert", str(bad), "--tls-key", str(bad))
    _assert_refused(tmp_path, 2, "--tls-client-ca", "--listen", "0.0.0.0:0", *files)
    anyone = (*files, "--allow-anonymous")
    _assert_refused(tmp_path, 1, "is not PEM", "--listen", "0.0.0.0:0", *anyone)


def test_tls_with_client_certificates(tmp_path: Path) -> None:
    _write_certificates(tmp_path)
    arguments = [
        *("--listen", "0.0.0.0:0"),
        *("--tls-cert", str(tmp_path / "server.pem"), "--tls-key", str(tmp_path / "server.key")),
        *("--tls-client-ca", str(tmp_path / "ca.pem")),
    ]
    process = start_process(tmp_path, *arguments)
    ca, cert, key = tmp_path / "ca.pem", tmp_path / "client.pem", tmp_path / "client.key"
    request = admin_pb2.ListBindingsRequest()
    try:
        target = f"127.0.0.1:{read_port(process, tmp_path)}"
        with open_channel(target, TlsFiles(ca, cert, key)) as channel:
            assert AdminServiceStub(channel).ListBindings(request, timeout=SECONDS).revision == 0
        for tls in (TlsFiles(ca), None):  # no client certificate, no TLS at all
            with open_channel(target, tls) as channel, pytest.raises(grpc.RpcError) as caught:
                AdminServiceStub(channel).ListBindings(request, timeout=SECONDS)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        command = [sys.executable, "-m", "dspark_control.ctl.main", "get", "bindings"]
        flags = ["--server", target, "--tls-ca", str(ca)]
        pair = ["--tls-cert", str(cert), "--tls-key", str(key)]
        assert subprocess.run([*command, *flags, *pair], timeout=60, check=False).returncode == 0
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)


def test_nobody_reading_the_log_stops_nothing(tmp_path: Path) -> None:
    process = start_process(tmp_path)
    try:
        port = read_port(process, tmp_path)
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        with connected(f"127.0.0.1:{port}", process.pid) as service:
            for index in range(100):  # two lines each, far more than the pipe holds
                client = WatchClient(service, hello(f"w{index}"))
                client.update()
                client.close()
            assert service.revision() == 0
        process.terminate()
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_full_disk_fails_writes_whole_and_leaves_reads(tmp_path: Path) -> None:
    with service_process(tmp_path) as service:
        service.put("p", SchedulingPolicy())
        size = max(file.stat().st_size for file in tmp_path.glob("control.db*"))
        old = resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        with pytest.raises(grpc.RpcError, match="nothing was written") as caught:
            _put_many(service)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        revision = service.revision()
        with pytest.raises(grpc.RpcError, match="nothing was written"):
            service.bind("b", "p")
        assert service.revision() == revision
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, old)
        assert service.bind("b", "p") == revision + 1
    store = Store(f"sqlite:///{tmp_path / 'control.db'}")
    assert store.verify_chain() is None
    assert store.list_bindings()[0] == revision + 1
    store.close()


def test_a_broken_audit_chain_is_refused_unless_accepted(tmp_path: Path) -> None:
    with service_process(tmp_path) as service:
        service.put("p", SchedulingPolicy())
        service.put("p", SchedulingPolicy(min_predicted_gain=1.0))
    with closing(sqlite3.connect(tmp_path / "control.db")) as database, database:
        database.execute("DROP TRIGGER revisions_no_update")
        database.execute("UPDATE revisions SET author = 'mallory' WHERE revision = 1")
    _assert_refused(tmp_path, 1, "revision 1 does not match its hash")
    _assert_refused(tmp_path, 1, "--accept-broken-audit-chain")
    process = start_process(tmp_path, "--accept-broken-audit-chain")
    try:
        with connected(f"127.0.0.1:{read_port(process, tmp_path)}", process.pid) as service:
            assert service.revision() == 2
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=SECONDS)
    assert "audit chain is broken: revision 1" in errors


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    junk = tmp_path / "junk.db"
    junk.write_bytes(os.urandom(8192))
    _assert_refused(tmp_path, 1, "not a database", "--database", f"sqlite:///{junk}")


def test_a_database_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    _assert_refused(tmp_path, 1, "none", "--database", "sqlite:////proc/none/x.db")


def _put_many(service: Service) -> None:
    for number in range(1, 50):
        service.put("p", SchedulingPolicy(min_predicted_gain=float(number)))


def _assert_refused(directory: Path, code: int, expected: str, *arguments: str) -> None:
    process = start_process(directory, *arguments)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert expected in errors
    assert "Traceback" not in errors
    last = errors.strip().splitlines()[-1]
    assert last.startswith("dspark-control: ")


def _write_certificates(directory: Path) -> None:
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def name(text: str) -> object:
        return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])

    def certificate(text: str, key: ec.EllipticCurvePrivateKey, signer: object) -> object:
        now = datetime.now(UTC)
        host = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        return (
            x509.CertificateBuilder()
            .subject_name(name(text))
            .issuer_name(name("ca"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=text == "ca", path_length=None), True)
            .add_extension(x509.SubjectAlternativeName([host]), False)
            .sign(signer, hashes.SHA256())
        )

    signer = ec.generate_private_key(ec.SECP256R1())
    for text in ("ca", "server", "client"):
        key = signer if text == "ca" else ec.generate_private_key(ec.SECP256R1())
        pem = certificate(text, key, signer).public_bytes(serialization.Encoding.PEM)
        (directory / f"{text}.pem").write_bytes(pem)
        plain = serialization.NoEncryption()
        form = serialization.PrivateFormat.PKCS8
        (directory / f"{text}.key").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, form, plain)
        )
