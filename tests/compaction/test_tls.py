"""Encrypted endpoints: the certificate is checked against the name, although the connection goes to checked numbers."""

import datetime
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from compaction.endpoints.retrying import RetryRules
from tests.compaction.loopback import SUMMARY, Caller, completion, serving

HOST = "summaries.example"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate for HOST, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def server(certificate):
    with serving(completion()) as running:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        running.encrypt(context)
        yield running


def caller(server, host, **fields):
    url = f"https://{host}:{server.port}/v1"
    return Caller(url, resolve=lambda host, port: ("127.0.0.1",), retries=RetryRules(most_attempts=1), **fields)


def test_the_certificate_of_the_name_is_accepted_at_the_checked_address(server, certificate):
    reply = caller(server, HOST, tls=lambda: ssl.create_default_context(cafile=certificate)).ask()
    assert (reply.text, reply.error) == (SUMMARY, "")


def test_the_certificate_of_another_name_is_not_accepted(server, certificate):
    reply = caller(server, "other.example", tls=lambda: ssl.create_default_context(cafile=certificate)).ask()
    assert reply.error == "tls_failed"
    assert "the certificate of other.example is not accepted" in reply.error_detail
    assert server.asked == []


def test_a_certificate_nobody_vouches_for_is_not_accepted(server):
    reply = caller(server, HOST).ask()
    assert reply.error == "tls_failed"
    assert "self-signed" in reply.error_detail or "self signed" in reply.error_detail
