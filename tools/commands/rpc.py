"""`stepwell rpc`: servers of sessions for other machines, their trackers, and trusted servers."""

from __future__ import annotations

import signal
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from threading import Event

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.channels import known_secrets
from stepwell.runtime.rpc.identity import (
    Address,
    address_of_url,
    checked_key,
    fingerprint_of,
    own_certificate,
    own_token,
    trust,
)
from stepwell.runtime.rpc.listening import Listener, expect_secure
from stepwell.runtime.rpc.registration import Registration, Tracked
from stepwell.runtime.rpc.requesting import devices_of
from stepwell.runtime.rpc.server import RpcServer, ServerOptions
from stepwell.runtime.rpc.session import Limits
from stepwell.runtime.rpc.tracker import TrackerServer
from stepwell.runtime.server.protection import read_token
from stepwell.tools.arguments import port, positive
from stepwell.tools.commands.sizes import size
from stepwell.tools.json_facts import add_json

_ASK_SECONDS = 20.0


def add_arguments(parser: ArgumentParser) -> None:
    """Add the parts of the command: `serve`, `tracker`, `proxy`, `devices`, `trust`."""
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True, help="one of those below")
    line = "serve sessions that load, run and time artifacts"
    serve = parts.add_parser("serve", help=line, description=line)
    _add_listener(serve)
    serve.add_argument(
        "--max-bytes", type=size, default=size("1G"), metavar="N", help="of files (default: 1G)"
    )
    serve.add_argument("--tracker", metavar="URL", help="the tracker or proxy that lends this device")
    serve.add_argument("--key", metavar="KEY", help="the name by which clients ask for this device")
    line = "lend devices, by key, to one client at a time"
    _add_listener(parts.add_parser("tracker", help=line, description=line))
    line = "lend devices that connect to this machine, and pass on their connections"
    _add_listener(parts.add_parser("proxy", help=line, description=line))
    line = "list the devices of a tracker"
    devices = parts.add_parser("devices", help=line, description=line)
    devices.add_argument("url", help="rpc://HOST:PORT of a tracker or proxy")
    add_json(devices, is_part=True)
    line = "store token and fingerprint of a server"
    trusted = parts.add_parser("trust", help=line, description=line)
    trusted.add_argument("url", help="rpc://HOST:PORT")
    trusted.add_argument("--token-file", type=Path, required=True, metavar="F", help="the server's token")
    trusted.add_argument("--fingerprint", required=True, metavar="HEX", help="of the server's certificate")


def _add_listener(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--port", type=port, default=0, metavar="PORT", help="port to listen on (default: 0, any free one)"
    )
    parser.add_argument("--token-file", type=Path, metavar="F", help="token (default: one of the user's own)")
    parser.add_argument(
        "--session-seconds",
        type=positive,
        default=600,
        metavar="N",
        help="the longest time of a session (default: 600)",
    )
    parser.add_argument("--insecure", action="store_true", help="without TLS, on 127.0.0.1 only")


def run(args: Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C, list devices, or store a server; returns the exit status."""
    match args.part:
        case "serve":
            return _serve(args)
        case "devices":
            return _devices(args)
        case "trust":
            path = trust(address_of_url(args.url), read_token(args.token_file), args.fingerprint)
            print(f"stored in {path}")
            return 0
        case _:
            listener, place = _listener(args)
            tracker = TrackerServer(listener, lease_seconds=args.session_seconds, relays=args.part == "proxy")
            return _wait(listener, tracker.address, place, tracker.close)


def _listener(args: Namespace) -> tuple[Listener, Path]:
    """The address and the secrets of a server, and its token's file."""
    expect_secure(args.host, not args.insecure)
    token, place = own_token(args.token_file)
    secrets = None if args.insecure else own_certificate()
    return Listener(Address(args.host, args.port), token, secrets), place


def _serve(args: Namespace) -> int:
    if (args.tracker is None) != (args.key is None) or (args.tracker is not None and args.insecure):
        message = "--tracker and --key go together, and need TLS"
        raise StepwellError("bad-option", None, message, help="give both, and leave `--insecure` out")
    tracker = None if args.tracker is None else address_of_url(args.tracker)
    key = None if args.key is None else checked_key(args.key)
    listener, place = _listener(args)
    limits = Limits(max_bytes=args.max_bytes, session_seconds=args.session_seconds)
    secrets = None if tracker is None else known_secrets(tracker, None, None)
    server = RpcServer(ServerOptions(listener.address, listener.token, listener.key_and_certificate, limits))
    if tracker is None or secrets is None or key is None or listener.key_and_certificate is None:
        return _wait(listener, server.address, place, server.close)
    fingerprint = fingerprint_of(listener.key_and_certificate[1])
    registration = Registration(server, Tracked(tracker, secrets, key, fingerprint))

    def close() -> None:
        registration.close()
        server.close()

    return _wait(listener, server.address, place, close)


def _wait(listener: Listener, address: Address, place: Path, close: Callable[[], None]) -> int:
    """Print address, fingerprint and the token's file; close at SIGTERM or Ctrl-C."""
    ended = Event()
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    print(f"listening on {address}", flush=True)
    if listener.key_and_certificate is not None:
        print(f"fingerprint {fingerprint_of(listener.key_and_certificate[1])}", flush=True)
    print(f"token in {place}", flush=True)
    try:
        while not ended.wait(0.5):  # signals are seen between waits
            pass
    finally:
        close()
    return 0


def _devices(args: Namespace) -> int:
    address = address_of_url(args.url)
    rows = devices_of(address, known_secrets(address, None, None), _ASK_SECONDS)
    args.facts |= {"devices": rows}
    if not rows:
        print("no device is registered")
    for row in rows:
        seconds = f"{row['seconds']:.0f} s"
        held = f"{row['state']} for {seconds}" + (f" by {row['who']}" if row["who"] else "")
        print(f"{row['key']}  {row['address']}  {held}, {row['waiting']} waiting")
    return 0
