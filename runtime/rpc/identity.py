"""Certificates and tokens: of this user's own server, and of trusted ones."""
# Packages of extras: the type checker knows nothing of them.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from stepwell.runtime.environment import CONFIG
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed
from stepwell.runtime.server.protection import LOOPBACK_HOSTS, read_token

TOKEN_BYTES = 32
SERVER_NAME = "stepwell"
"""The name in certificates: clients compare the fingerprint, not the address."""
_YEARS = 10
_HEX = re.compile(r"[0-9a-f]{64}")


class Address(NamedTuple):
    """Host and port of a server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Trusted(NamedTuple):
    """Token and fingerprint of a server."""

    token: str | None
    fingerprint: str | None


def address_of_url(url: str) -> Address:
    """The address in `rpc://HOST:PORT`. Raises: StepwellError `bad-option`."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme != "rpc" or not host or not port or parts.path not in ("", "/") or parts.query:
        raise StepwellError("bad-option", None, f"a server is rpc://HOST:PORT, found {url!r:.100}")
    return Address(host, port)


def config_folder() -> Path:
    """`STEPWELL_CONFIG` when set, else the platform's folder for settings of the user."""
    if override := CONFIG.value():
        return Path(override)
    with needed("finding the folder of settings"):
        from platformdirs import user_config_path
    return user_config_path("stepwell", appauthor=False)


def own_token(path: Path | None = None) -> tuple[str, Path]:
    """The token of this user's server, made at first use, and its file. Raises: StepwellError."""
    path = path or config_folder() / "rpc-token"
    if not path.exists():
        _write_secret(path, token_hex(TOKEN_BYTES).encode())
    return read_token(path), path


def own_certificate() -> tuple[bytes, bytes]:
    """Private key and certificate of this user's server, made at first use. Raises: StepwellError."""
    key, certificate = config_folder() / "rpc-key.pem", config_folder() / "rpc-certificate.pem"
    if not (key.exists() and certificate.exists()):
        made = _made_certificate()
        _write_secret(key, made[0])
        _write_secret(certificate, made[1])
    return key.read_bytes(), certificate.read_bytes()


def fingerprint_of(certificate: bytes) -> str:
    """The SHA-256 of a certificate in PEM's form."""
    import ssl

    return sha256(ssl.PEM_cert_to_DER_cert(certificate.decode("ascii"))).hexdigest()


def known_server(address: Address) -> Trusted:
    """Token and fingerprint of a server, from the files of this user's own server or from `trust`."""
    stored = _stored().get(str(address))
    if stored is not None:
        row = cast("Mapping[str, str]", stored)
        return Trusted(row.get("token"), row.get("fingerprint"))
    folder = config_folder()
    certificate, token = folder / "rpc-certificate.pem", folder / "rpc-token"
    if address.host not in LOOPBACK_HOSTS:
        return Trusted(None, None)
    return Trusted(
        read_token(token) if token.exists() else None,
        fingerprint_of(certificate.read_bytes()) if certificate.exists() else None,
    )


def trust(address: Address, token: str, fingerprint: str) -> Path:
    """Store token and fingerprint of a server; returns the file. Raises: StepwellError."""
    rows = {**_stored(), str(address): {"token": token, "fingerprint": checked_fingerprint(fingerprint)}}
    path = config_folder() / "rpc-servers.json"
    _write_secret(path, json.dumps(rows, indent=1).encode())
    return path


def checked_fingerprint(text: str) -> str:
    """A fingerprint as 64 digits. Raises: StepwellError `bad-certificate`."""
    digits = text.lower().replace(":", "")
    if _HEX.fullmatch(digits) is None:
        message = f"a fingerprint has 64 hexadecimal digits, found {text!r:.100}"
        raise StepwellError("bad-certificate", None, message)
    return digits


def _stored() -> Mapping[str, object]:
    path = config_folder() / "rpc-servers.json"
    try:
        return cast("Mapping[str, object]", json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StepwellError("bad-data", str(path), f"the list of servers cannot be read: {error}") from None


def _write_secret(path: Path, data: bytes) -> None:
    """Write a file that only the user may read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        part.replace(path)
    except OSError as error:
        raise StepwellError("cannot-write", str(path), str(error)) from None


def _made_certificate() -> tuple[bytes, bytes]:
    with needed("a certificate", install="'stepwell[rpc]'"):
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, SERVER_NAME)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(pem, pkcs8, serialization.NoEncryption()), certificate.public_bytes(pem)
