"""Mutual TLS between the agent and the real service."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import pytest
from agent_helpers import eventually
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from service_helpers import ControlService

from dspark_sglang.agent import AgentState, Mailbox


class Pair(NamedTuple):
    """A certificate and its key, in memory and as PEM files."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    cert: Path
    key_file: Path


def issue(folder: Path, name: str, issuer: Pair | None = None) -> Pair:
    """A certificate for this machine; without an issuer, of an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    host = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    builder = builder.add_extension(host, critical=False)
    certificate = builder.sign(issuer.key if issuer else key, hashes.SHA256())
    pair = Pair(certificate, key, folder / f"{name}.pem", folder / f"{name}.key")
    pair.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pair.key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pair


@pytest.fixture
def authority(tmp_path) -> Pair:
    return issue(tmp_path, "authority")


@pytest.fixture
def service(tmp_path, authority):
    own = issue(tmp_path, "service", authority)
    arguments = ["--tls-cert", str(own.cert), "--tls-key", str(own.key_file)]
    arguments += ["--tls-client-ca", str(authority.cert)]
    with ControlService(tmp_path, *arguments) as service:
        yield service


def test_only_who_shows_a_certificate_of_the_authority_is_served(
    service, start_agent, scheduler, tmp_path, authority
):
    mine = issue(tmp_path, "worker", authority)
    stranger = issue(tmp_path, "stranger")
    agents = {
        name: start_agent(
            service.endpoint,
            mailbox,
            tls_ca=authority.cert,
            tls_cert=pair.cert,
            tls_key=pair.key_file,
            heartbeat_seconds=5.0,
        )
        for name, pair, mailbox in (
            ("worker", mine, scheduler.mailbox),
            ("stranger", stranger, Mailbox()),
        )
    }
    agents["nameless"] = start_agent(service.endpoint, Mailbox(), tls_ca=authority.cert)
    agents["plaintext"] = start_agent(service.endpoint, Mailbox())
    agents["suspicious"] = start_agent(service.endpoint, Mailbox(), tls_ca=stranger.cert)
    eventually(lambda: agents["worker"].status.state is AgentState.READY)
    for name in ("stranger", "nameless", "plaintext", "suspicious"):
        eventually(lambda name=name: agents[name].status.last_error)
        assert agents[name].status.state is AgentState.STALE, name
