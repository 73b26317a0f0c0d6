"""An address to listen on: refused without protection, else served by uvicorn until a signal."""
# The package of the extra: the type checker knows nothing of it.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed

_LEAST_TOKEN, _MOST_TOKEN = 16, 4096  # characters
_DRAIN_SECONDS = 30


def expect_protected(
    host: str, is_loopback: bool, token_file: Path | None, tls: list[Path] | None, plain_http: bool
) -> None:
    """Refuse an address that others reach without token, or without TLS. Raises: StepwellError."""
    if is_loopback:
        return
    missing = "a token" if token_file is None else "TLS" if tls is None and not plain_http else None
    if missing is not None:
        help = "--token-file F" if token_file is None else "--tls CERT KEY, or --plain-http behind a proxy"
        message = f"{host} can be reached from other machines, and the server has not {missing}"
        raise StepwellError("insecure-address", None, message, help=help)


def read_token(path: Path) -> str:
    """The token of a file. Raises: StepwellError `no-file`, `bad-option`."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MOST_TOKEN + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StepwellError("no-file", str(path), f"the token cannot be read: {error}") from None
    if not (_LEAST_TOKEN <= len(text) <= _MOST_TOKEN and text.isascii() and text.isprintable()):
        message = f"a token has {_LEAST_TOKEN} to {_MOST_TOKEN} printable ASCII characters"
        raise StepwellError("bad-option", str(path), message)
    return text


def listen(application: Any, host: str, port: int, tls: list[Path] | None) -> int:
    """
    Serve until SIGTERM or Ctrl-C, and answer what has begun by then; returns the exit status.

    Raises: StepwellError `missing-package`, `bad-option` for an address that cannot be had.
    """
    with needed("serving", install="'stepwell[serve]'"):
        import uvicorn
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends without delay; else answers wait 40 ms for an acknowledgment.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise StepwellError("bad-option", None, f"cannot listen on {host}:{port}: {error.strerror}") from None
    cert, key = (None, None) if tls is None else map(str, tls)
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        lifespan="on",
        ws="none",
        ssl_certfile=cert,
        ssl_keyfile=key,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    shown = f"[{host}]" if ":" in host else host
    scheme = "http" if tls is None else "https"
    print(f"listening on {scheme}://{shown}:{listener.getsockname()[1]}", flush=True)
    with listener:
        uvicorn.Server(config).run(sockets=[listener])
    return 0
