"""`stepwell serve`: models over HTTP, by the Open Inference Protocol v2."""

from __future__ import annotations

import socket
from argparse import ArgumentParser, Namespace
from pathlib import Path

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.identity import LOOPBACK, read_token
from stepwell.runtime.serve import app
from stepwell.runtime.values.loading import load
from stepwell.tools.api.compile import compile
from stepwell.tools.commands.options import add_threads, check_suffix, positive
from stepwell.tools.commands.sizes import size

_DRAIN_SECONDS = 30


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: models, address, token, TLS and bounds."""
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help=".onnx, .mlir or .stepwell")
    parser.add_argument("--host", default=LOOPBACK[0], help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0 is any free one")
    parser.add_argument("--token-file", type=Path, metavar="F", help="what `Authorization: Bearer` must have")
    parser.add_argument("--tls", nargs=2, type=Path, metavar=("CERT", "KEY"), help="files of a certificate")
    parser.add_argument("--plain-http", action="store_true", help="without TLS, behind a proxy that has it")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name that `Host` may have too"
    )
    parser.add_argument("--max-batch", type=positive, default=8, metavar="N", help="rows of a call")
    parser.add_argument("--delay-ms", type=float, default=2, metavar="T", help="longest wait for a batch")
    parser.add_argument("--instances", type=positive, default=1, metavar="N", help="calls at once, a model")
    parser.add_argument("--max-request", type=size, default=size("64M"), metavar="N", help="bytes of a body")
    add_threads(parser)


def run(args: Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit status."""
    _expect_secure(args)
    with needed("a server", install="'stepwell[serve]'"):
        import uvicorn
    models = {path.stem: _model(path, args.threads) for path in args.models}
    if len(models) < len(args.models):
        raise StepwellError("bad-option", None, "two models have the same name: that of the file")
    application = app(
        models,
        max_batch=args.max_batch,
        delay_ms=args.delay_ms,
        instances=args.instances,
        max_request_bytes=args.max_request,
        token=None if args.token_file is None else read_token(args.token_file),
        hosts=(*LOOPBACK, *args.allow_host) if args.host in LOOPBACK else None,
    )
    certificate, key = args.tls or (None, None)
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    with _listening(args.host, args.port) as listening:
        scheme, port = "http" if args.tls is None else "https", listening.getsockname()[1]
        print(f"listening on {scheme}://{args.host}:{port}", flush=True)
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def _model(path: Path, threads: int | None) -> CompiledModel:
    check_suffix(path, (".onnx", ".mlir", ".stepwell"))
    return load(path, threads=threads) if path.suffix == ".stepwell" else compile(path, threads=threads)


def _expect_secure(args: Namespace) -> None:
    """Require token and TLS where other machines can connect. Raises: StepwellError `insecure-address`."""
    if args.host in LOOPBACK:
        return
    if args.token_file is None:
        raise _insecure(args.host, "a token", "add `--token-file F`")
    if args.tls is None and not args.plain_http:
        raise _insecure(
            args.host, "TLS", "add `--tls CERT KEY`, or `--plain-http` behind a proxy that has it"
        )


def _insecure(host: str, needs: str, help: str) -> StepwellError:
    message = f"{host} can be reached from other machines, which needs {needs}"
    return StepwellError("insecure-address", None, message, help=help)


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=2048)
    except (OSError, OverflowError) as error:
        raise StepwellError("cannot-serve", None, f"cannot listen on {host}:{port}: {error}") from None
