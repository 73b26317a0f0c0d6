"""A listening gRPC server with TLS and a token, whose methods are streams of messages."""
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.attempts import Attempts
from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.messages import MAX_MESSAGE_BYTES
from stepwell.runtime.server.protection import expect_protected

KEEPALIVE_MS = 5000
"""Twice this time after its last sign of life, a client is gone."""

Log: TypeAlias = Callable[[str], None]
Method: TypeAlias = Callable[[Iterator[bytes], Any], Iterator[bytes]]
"""The parts of the answers to the parts of requests; the second argument is gRPC's context of the call."""


def log_to_stderr(line: str) -> None:
    """Print a line of the log."""
    print(line, file=sys.stderr, flush=True)


class Listener(NamedTuple):
    """The address of a server, and its secrets."""

    address: Address
    token: str
    key_and_certificate: tuple[bytes, bytes] | None
    """None: without TLS, on the loopback interface only."""
    log: Log = log_to_stderr


class Listening:
    """A listening server: every call of a method needs a token."""

    def __init__(self, listener: Listener, service: str, methods: Mapping[str, Method], streams: int):
        """
        Args: `methods` by name; `streams` is the number of calls at once.
        Raises: StepwellError `insecure-address`, `cannot-serve`, `missing-package`.
        """
        with needed("a server of sessions", install="'stepwell[rpc]'"):
            import grpc
        self.codes, self._error = grpc.StatusCode, cast(Any, grpc).RpcError
        self._listener = listener
        self.tokens = Attempts(listener.token)
        expect_secure(listener.address.host, listener.key_and_certificate is not None)
        self._server = grpc.server(
            ThreadPoolExecutor(streams),
            options=[
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                ("grpc.keepalive_time_ms", KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", KEEPALIVE_MS),
                ("grpc.http2.ping_timeout_ms", KEEPALIVE_MS),  # a minute otherwise, whatever that above says
                ("grpc.http2.max_pings_without_data", 0),
                ("grpc.http2.min_ping_interval_without_data_ms", KEEPALIVE_MS),
                ("grpc.so_reuseport", 0),
                ("grpc.max_concurrent_streams", streams),
            ],
        )
        handlers: Any = {
            name: cast(Any, grpc).stream_stream_rpc_method_handler(self._admitted(method))
            for name, method in methods.items()
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        self.address = listener.address._replace(port=self._bound(grpc))
        self._server.start()

    def _bound(self, grpc: Any) -> int:
        place, secrets = str(self._listener.address), self._listener.key_and_certificate
        try:
            if secrets is None:
                return self._server.add_insecure_port(place)
            return self._server.add_secure_port(place, grpc.ssl_server_credentials([secrets]))
        except RuntimeError as error:
            raise StepwellError("cannot-serve", None, f"cannot listen on {place}: {error}") from None

    def _admitted(self, method: Method) -> Method:
        """The method for calls with a token; a broken message ends its call."""

        def call(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            if refusal := self.tokens.refusal(context.peer().rpartition(":")[0], token_of(context)):
                self.log(context, f"refused: {refusal}")
                context.abort(self.codes.UNAUTHENTICATED, refusal)
            try:
                yield from method(requests, context)
            except self._error:  # the client has ended the call
                return
            except BadFrame as error:
                self.log(context, str(error))
                context.abort(self.codes.INVALID_ARGUMENT, str(error))

        return call

    def log(self, context: Any, line: str) -> None:
        """Log a line about a call."""
        self._listener.log(f"{context.peer()}: {line}")

    def close(self) -> None:
        """Stop listening, and end all calls."""
        self._server.stop(1).wait()


def token_of(context: Any) -> str:
    """The token that a call shows; empty for none."""
    given = dict(context.invocation_metadata()).get("authorization", "")
    return given.removeprefix("Bearer ") if isinstance(given, str) else ""


def expect_secure(host: str, has_tls: bool) -> None:
    """Require TLS where other machines can connect. Raises: StepwellError `insecure-address`."""
    expect_protected(host, has_token=True, has_tls=has_tls, tls_help="leave `--insecure` out")
