"""Certificates with which the host ends the TLS of one sandbox's connections."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tinyagent.core.errors import ConfigurationError, missing_extra
from tinyagent.execution.network.names import ip_address

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

_DAYS = 3650  # longer than any process that holds the keys
_MAX_CONTEXTS = 1000
_UNRECOGNIZED_NAME = ssl.AlertDescription.ALERT_DESCRIPTION_UNRECOGNIZED_NAME


class Authority:
    """Signs certificates that only one sandbox trusts; its keys are in this process only.

    Raises:
        ConfigurationError: `cryptography` is not installed.
    """

    def __init__(self) -> None:
        try:  # loads in 70 ms, and only sandboxes with a network need it
            from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
        except ImportError:
            raise ConfigurationError(missing_extra("a sandbox with a network", "network")) from None
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._root = self._sign("tinyagent sandbox", None)

    @property
    def certificate(self) -> str:
        """The authority's certificate in PEM."""
        return _pem(self._root).decode("ascii")

    def context(self, host: str) -> ssl.SSLContext:
        """How to end the TLS of a connection to this host; kept for the next one."""
        context = self._contexts.pop(host, None) or self._make_context(host)
        self._contexts[host] = context  # the last used is the last
        if len(self._contexts) > _MAX_CONTEXTS:
            del self._contexts[next(iter(self._contexts))]
        return context

    def _make_context(self, host: str) -> ssl.SSLContext:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.num_tickets = 0
        context.set_alpn_protocols(["http/1.1"])
        context.sni_callback = _only_for(host)
        key = self._leaf_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        # The ssl module reads keys from files only: this one is in memory, and has no name.
        file = os.memfd_create("leaf", os.MFD_CLOEXEC)
        try:
            os.write(file, key + _pem(self._sign(host, host)))
            context.load_cert_chain(f"/proc/self/fd/{file}")
        finally:
            os.close(file)
        return context

    def _sign(self, name: str, host: str | None) -> x509.Certificate:
        """A certificate for a host; None: for the authority itself."""
        from cryptography import x509  # noqa: PLC0415 - as above
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
        from cryptography.x509.oid import NameOID  # noqa: PLC0415

        now = dt.datetime.now(dt.UTC)
        title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
        issuer = title if host is None else self._root.subject
        key: ec.EllipticCurvePrivateKey = self._key if host is None else self._leaf_key
        builder = (
            x509.CertificateBuilder(issuer, title, key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=_DAYS))
            .add_extension(x509.BasicConstraints(host is None, None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if host is None:
            usage = x509.KeyUsage(
                digital_signature=True, key_cert_sign=True, crl_sign=True,
                content_commitment=False, key_encipherment=False, data_encipherment=False,
                key_agreement=False, encipher_only=False, decipher_only=False,
            )  # fmt: skip
            builder = builder.add_extension(usage, critical=True)
        else:
            is_address = ip_address(host) is not None
            entry: x509.GeneralName = (
                x509.IPAddress(ipaddress.ip_address(host)) if is_address else x509.DNSName(host)
            )
            builder = builder.add_extension(x509.SubjectAlternativeName([entry]), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above

    return certificate.public_bytes(serialization.Encoding.PEM)


def _only_for(host: str) -> Callable[[Any, Any, Any], int | None]:
    """Refuse a connection that names another host; one to an address names none."""
    expected = None if ip_address(host) is not None else host

    def check(_: object, name: str | None, __: object) -> int | None:
        given = None if name is None else name.lower().removesuffix(".")
        return None if given == expected else int(_UNRECOGNIZED_NAME)

    return check
