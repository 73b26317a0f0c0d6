"""`stepwell rpc`: a server of sessions for other machines, and the servers that are trusted."""

from __future__ import annotations

import signal
from argparse import ArgumentParser, Namespace
from pathlib import Path
from threading import Event

from stepwell.runtime.rpc.identity import (
    Address,
    address_of_url,
    fingerprint_of,
    own_certificate,
    own_token,
    trust,
)
from stepwell.runtime.rpc.server import RpcServer, ServerOptions, expect_secure
from stepwell.runtime.rpc.session import Limits
from stepwell.runtime.server.protection import read_token
from stepwell.tools.commands.options import positive
from stepwell.tools.commands.sizes import size


def add_arguments(parser: ArgumentParser) -> None:
    """Add the parts of the command: `serve`, `trust`."""
    parts = parser.add_subparsers(
        dest="part", metavar="PART", required=True, help="`serve` a machine, or `trust` a server"
    )
    line = "serve sessions that load, run and time artifacts"
    serve = parts.add_parser("serve", help=line, description=line)
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=int, default=0, help="port to listen on (default: 0, any free one)")
    serve.add_argument("--token-file", type=Path, metavar="F", help="token (default: one of the user's own)")
    serve.add_argument(
        "--max-bytes", type=size, default=size("1G"), metavar="N", help="of files (default: 1G)"
    )
    serve.add_argument(
        "--session-seconds", type=positive, default=600, metavar="N", help="of a session (default: 600)"
    )
    serve.add_argument("--insecure", action="store_true", help="without TLS, on 127.0.0.1 only")
    line = "store token and fingerprint of a server"
    trusted = parts.add_parser("trust", help=line, description=line)
    trusted.add_argument("url", help="rpc://HOST:PORT")
    trusted.add_argument("--token-file", type=Path, required=True, metavar="F", help="the server's token")
    trusted.add_argument("--fingerprint", required=True, metavar="HEX", help="of the server's certificate")


def run(args: Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C, or store a server; returns the exit status."""
    if args.part == "serve":
        return _serve(args)
    path = trust(address_of_url(args.url), read_token(args.token_file), args.fingerprint)
    print(f"stored in {path}")
    return 0


def _serve(args: Namespace) -> int:
    expect_secure(args.host, not args.insecure)
    token, place = own_token(args.token_file)
    secrets = None if args.insecure else own_certificate()
    limits = Limits(max_bytes=args.max_bytes, session_seconds=args.session_seconds)
    server = RpcServer(ServerOptions(Address(args.host, args.port), token, secrets, limits))
    print(f"listening on {server.address}", flush=True)
    if secrets is not None:
        print(f"fingerprint {fingerprint_of(secrets[1])}", flush=True)
    print(f"token in {place}", flush=True)
    ended = Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    try:
        while not ended.wait(0.5):  # signals are seen between waits
            pass
    finally:
        server.close()
    return 0
