"""An address served by uvicorn until a signal."""
# The package of the extra: the type checker knows nothing of it.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed

_DRAIN_SECONDS = 30


def listen(application: Any, host: str, port: int, tls: list[Path] | None) -> int:
    """
    Serve until SIGTERM or Ctrl-C, and answer what has begun by then; returns the exit status.

    Raises: StepwellError `missing-package`, `cannot-serve`.
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
        raise StepwellError(
            "cannot-serve", None, f"cannot listen on {host}:{port}: {error.strerror}"
        ) from None
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
