"""`stepwell serve`: models over HTTP, by the Open Inference Protocol."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.tools.arguments import port
from stepwell.tools.commands.options import add_compile_options, add_threads, positive, ready_model
from stepwell.tools.commands.sizes import size

if TYPE_CHECKING:
    from stepwell.runtime.serve.application import Application


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: models, address, protection, batches, and options of compilations."""
    parser.add_argument(
        "models", nargs="+", type=Path, metavar="MODEL", help="files, served under their names without suffix"
    )
    address = parser.add_argument_group("address")
    address.add_argument("--host", default="127.0.0.1", metavar="H", help="the address (default: 127.0.0.1)")
    address.add_argument(
        "--port", type=port, default=8000, metavar="N", help="the port, 0 for any (default: 8000)"
    )
    address.add_argument("--token-file", type=Path, metavar="F", help="the token that requests have to show")
    address.add_argument(
        "--tls", type=Path, nargs=2, metavar=("CERT", "KEY"), help="the certificate and its key, as PEM"
    )
    address.add_argument(
        "--plain-http", action="store_true", help="without TLS on another address, behind a proxy that has it"
    )
    address.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="another name that Host may have"
    )
    address.add_argument(
        "--max-request", type=size, default=64 << 20, metavar="SIZE", help="the largest body (default: 64M)"
    )
    batches = parser.add_argument_group("batches")
    batches.add_argument(
        "--max-batch", type=positive, default=8, metavar="N", help="samples of a batch (default: 8; 1: none)"
    )
    batches.add_argument(
        "--delay-ms",
        type=milliseconds,
        default=2.0,
        metavar="MS",
        help="the longest wait for one (default: 2)",
    )
    batches.add_argument(
        "--instances", type=positive, default=1, metavar="N", help="calls of a model at once (default: 1)"
    )
    add_threads(parser)
    add_compile_options(parser)


def milliseconds(text: str) -> float:
    """A wait of at most a minute. Raises: ArgumentTypeError, which argparse reports."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 60_000:
        raise ArgumentTypeError(f"expected milliseconds, found {text!r}")
    return value


def run(args: Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit status."""
    from stepwell.runtime.server.protection import expect_protected, read_token
    from stepwell.tools.serving.listen import listen

    has_token, has_tls = args.token_file is not None, args.tls is not None or args.plain_http
    tls_help = "--tls CERT KEY, or --plain-http behind a proxy"
    expect_protected(args.host, has_token=has_token, has_tls=has_tls, tls_help=tls_help)
    token = None if args.token_file is None else read_token(args.token_file)
    names = [path.stem for path in args.models]
    if double := [name for name in names if names.count(name) > 1]:
        raise StepwellError("bad-option", None, f"two models have the name {double[0]!r}", help="rename one")
    return listen(lambda: _application(args, token), args.host, args.port, args.tls)


def _application(args: Namespace, token: str | None) -> Application:
    """The application that answers requests to the models of the arguments."""
    from stepwell.runtime.serve.application import app
    from stepwell.runtime.serve.served import Batching
    from stepwell.runtime.server.guard import LOOPBACK
    from stepwell.runtime.server.protection import LOOPBACK_HOSTS

    models = {path.stem: ready_model(Namespace(**{**vars(args), "model": path})) for path in args.models}
    hosts = (*LOOPBACK, "[::1]", *args.allow_host) if args.host in LOOPBACK_HOSTS or args.allow_host else None
    batching = Batching(args.max_batch, args.delay_ms, args.instances)
    return app(models, batching=batching, token=token, allow_hosts=hosts, max_request_bytes=args.max_request)
