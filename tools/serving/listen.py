"""An address served by uvicorn until a signal."""
# The package of the extra: the type checker knows nothing of it.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed

_DRAIN_SECONDS = 30


def listen(make: Callable[[], Any], host: str, port: int, tls: list[Path] | None) -> int:
    """
    Serve until SIGTERM or Ctrl-C, and answer what has begun by then; returns the exit status.

    Args: `make` returns the ASGI application. It may take its time to compile models: clients connect before,
    and wait for the first answer.
    Raises: StepwellError `missing-package`, `cannot-serve`, `bad-option`; what `make` raises.
    """
    if tls is not None:
        check_certificate(*tls)
    with listening_socket(host, port) as listener:
        with needed("serving", install="'stepwell[serve]'"):
            import uvicorn
        application = make()
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
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def listening_socket(host: str, port: int) -> socket.socket:
    """
    A listening socket: clients connect, and wait in its queue until `listen` answers.

    Raises: StepwellError `cannot-serve`.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends without delay; else answers wait 40 ms for an acknowledgment.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise StepwellError(
            "cannot-serve", None, f"cannot listen on {host}:{port}: {error.strerror}"
        ) from None
    return listener


def check_certificate(cert: Path, key: Path) -> None:
    """Read a certificate with its key. Raises: StepwellError `bad-option`."""
    try:
        # Without `password` OpenSSL would ask for one on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except OSError as error:
        message = f"cannot use {cert} with the key {key}: {error.strerror}"
        help = "give a certificate and its key as files of PEM, the key without a password"
        raise StepwellError("bad-option", "--tls", message, help=help) from None
