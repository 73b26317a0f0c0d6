"""The protection that a server needs on its address: a token in a file, and TLS."""

from __future__ import annotations

from pathlib import Path

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
"""Addresses that other machines do not reach."""
_LEAST_TOKEN, _MOST_TOKEN = 16, 4096  # characters


def read_token(path: Path) -> str:
    """The token of a file. Raises: StepwellError `no-file`, `bad-token`."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MOST_TOKEN + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, "token", error) from None
    if not (_LEAST_TOKEN <= len(text) <= _MOST_TOKEN and text.isascii() and text.isprintable()):
        message = f"a token has {_LEAST_TOKEN} to {_MOST_TOKEN} printable ASCII characters"
        raise StepwellError("bad-token", str(path), message, help="write another one into the file")
    return text


def expect_protected(host: str, *, has_token: bool, has_tls: bool, tls_help: str) -> None:
    """
    Require a token and TLS where other machines can connect.

    Args: `tls_help` names the options of the command that give it TLS.
    Raises: StepwellError `insecure-address`.
    """
    if host in LOOPBACK_HOSTS or (has_token and has_tls):
        return
    missing, help = ("TLS", tls_help) if has_token else ("a token", "--token-file F")
    message = f"{host} can be reached from other machines, and the server has not {missing}"
    raise StepwellError("insecure-address", None, message, help=help)
