"""Values of Secrets that the host makes, so that the plugin never sees them.

A plugin asks for a value in place of giving it. The host makes it once, from the operating system's
randomness, and keeps it:

    Secret(
        "db",
        data={
            "password": password(24),
            "url": text("postgres://app:{password}@db/app"),
            "password.scram": scram_sha256("password"),
            "ca.crt": ca("db", private_key="ca.key", valid_days=3650),
            "tls.crt": signed_by("ca.crt", private_key="tls.key", dns_names=["db"]),
        },
    )

Such a Secret is read with a placeholder in place of each value.
``secret.data.generated("password")`` is the digest in it: in a Pod template, the Pods are replaced
when the value changes. A request with ``.epoch(2)`` makes a new value if the epoch was lower
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ._objects import Generated

__all__ = [
    "Generated",
    "bcrypt",
    "ca",
    "key_pair",
    "password",
    "random_bytes",
    "scram_sha256",
    "self_signed",
    "sha256",
    "signed_by",
    "signed_by_secret",
    "text",
]

Algorithm = Literal["ed25519", "ecdsa-p256", "rsa-2048", "rsa-3072", "rsa-4096"]
"""An algorithm of keys. RSA with 4096 bits takes the host seconds."""

Usage = Literal["server", "client"]

_SECONDS_OF_DAY = 86_400


def _request(generator: str, request: Any) -> Generated:
    return Generated({"generate": {generator: request}})


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def random_bytes(
    length: int, encoding: Literal["hex", "base64", "base64Url"] | None = None
) -> Generated:
    """Random bytes, at most 1024, or a text of them."""
    return _request("bytes", _given(length=length, encoding=encoding))


def password(length: int, alphabet: str | None = None) -> Generated:
    """A random text of at most 256 characters, of the ASCII letters and digits or of an
    alphabet."""
    return _request("password", _given(length=length, alphabet=alphabet))


def key_pair(
    algorithm: Algorithm, *, format: Literal["pem", "ssh"] = "pem", public_key: str | None = None
) -> Generated:
    """A private key.

    Args:
        algorithm: Its algorithm.
        format: PKCS #8 in PEM, or as ``ssh-keygen`` writes it.
        public_key: The key of ``data`` for the public key.
    """
    return _request(
        "keyPair",
        _given(
            algorithm=algorithm, format="ssh" if format == "ssh" else None, publicKey=public_key
        ),
    )


def text(text: str) -> Generated:
    """A text with other values of the Secret: ``{key}`` is the value of a key; ``{{`` and ``}}``
    are braces."""
    return _request("text", text)


def bcrypt(of: str) -> Generated:
    """The hash of another value of the Secret, as in files of htpasswd. The value may have at most
    72 bytes."""
    return _request("hash", {"of": of, "algorithm": "bcrypt"})


def scram_sha256(of: str) -> Generated:
    """The hash of another value of the Secret, as PostgreSQL stores passwords."""
    return _request("hash", {"of": of, "algorithm": "scram-sha256"})


def sha256(of: str) -> Generated:
    """The hash of another value of the Secret, in hexadecimal digits."""
    return _request("hash", {"of": of, "algorithm": "sha256"})


def _certificate(
    private_key: str,
    issuer: Any,
    *,
    is_ca: bool | None = None,
    common_name: str | None = None,
    dns_names: Sequence[str] | None = None,
    ip_addresses: Sequence[str] | None = None,
    usages: Sequence[Usage] | None = None,
    algorithm: Algorithm | None = None,
    ca_certificate: str | None = None,
    valid_days: int = 90,
    renew_days_before: int | None = None,
) -> Generated:
    renew = None if renew_days_before is None else renew_days_before * _SECONDS_OF_DAY
    request = _given(
        privateKey=private_key,
        issuer=issuer,
        isCa=is_ca,
        commonName=common_name,
        dnsNames=None if dns_names is None else list(dns_names),
        ipAddresses=None if ip_addresses is None else list(ip_addresses),
        usages=None if usages is None else list(usages),
        algorithm=algorithm,
        caCertificate=ca_certificate,
        lifetimeSeconds=valid_days * _SECONDS_OF_DAY,
        renewBeforeSeconds=renew,
    )
    return _request("certificate", request)


def self_signed(private_key: str, **fields: Any) -> Generated:
    """An X.509 certificate that signs itself.

    Args:
        private_key: The key of ``data`` for its private key.
        fields: ``common_name``, ``dns_names``, ``ip_addresses``; ``usages`` (``["server"]``);
            ``algorithm`` (ECDSA); ``ca_certificate``, the key of ``data`` for the certificate of
            the issuer; ``valid_days`` (90); ``renew_days_before``, by default when a third of the
            time is left.
    """
    return _certificate(private_key, "self", **fields)


def ca(common_name: str, *, private_key: str, **fields: Any) -> Generated:
    """A certificate that signs itself and may sign others. It keeps its private key when it is
    renewed. See :func:`self_signed`."""
    return _certificate(private_key, "self", is_ca=True, common_name=common_name, **fields)


def signed_by(ca: str, *, private_key: str, **fields: Any) -> Generated:
    """A certificate that is signed by another one of the same Secret, under this key. See
    :func:`self_signed`."""
    return _certificate(private_key, {"key": ca}, **fields)


def signed_by_secret(name: str, *, private_key: str, **fields: Any) -> Generated:
    """A certificate that is signed by the CA in the keys ``tls.crt`` and ``tls.key`` of another
    Secret in the parent's namespace. The plugin must declare that it reads Secrets. See
    :func:`self_signed`."""
    return _certificate(private_key, {"secret": {"name": name}}, **fields)
