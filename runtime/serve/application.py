"""The ASGI application: paths of the Open Inference Protocol, to models."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from http import HTTPStatus
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias, cast

from stepwell.runtime.model import CompiledModel
from stepwell.runtime.serve.bodies import Body, expect_length
from stepwell.runtime.serve.datatypes import datatype_of
from stepwell.runtime.serve.messages import HEADER_LENGTH, answer, parse_request
from stepwell.runtime.serve.metrics import metrics_text
from stepwell.runtime.serve.refused import Refused, bad_request, refusal_of
from stepwell.runtime.serve.served import Batching, ServedModel
from stepwell.runtime.server.guard import LOOPBACK, Guard

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_REQUEST_BYTES = 64 << 20
VERSION = "1"
"""The version of each model: a server has one."""
_JSON, _BINARY = b"application/json", b"application/octet-stream"
_log = logging.getLogger(__name__)


class Reply(NamedTuple):
    """A status, a body, and its headers."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ((b"content-type", _JSON),)


class Headers(dict[str, str]):
    """The headers of a request, found without regard to case."""

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a header."""
        return super().get(key.lower(), default)


class Application:
    """
    Models as an ASGI application, for one event loop.

    Source: the ASGI specification 3.0.
    """

    def __init__(self, models: Mapping[str, ServedModel], guard: Guard, *, has_token: bool, max_bytes: int):
        self._models = models
        self._guard = guard
        self._has_token = has_token
        self._max_bytes = max_bytes
        self.is_draining = False

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, or follow the life of the server."""
        if scope["type"] == "lifespan":
            await self._follow_life(receive, send)
        elif scope["type"] == "http":
            reply = await self._reply(scope, receive)
            size = (b"content-length", str(len(reply.body)).encode())
            await send(
                {"type": "http.response.start", "status": reply.status, "headers": [*reply.headers, size]}
            )
            body = b"" if scope["method"] == "HEAD" else reply.body
            await send({"type": "http.response.body", "body": body})
        else:
            await send({"type": "websocket.close"})

    async def _follow_life(self, receive: Receive, send: Send) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.shutdown":
                self.is_draining = True
                for model in self._models.values():
                    model.close()
            await send({"type": event + ".complete"})
            if event == "lifespan.shutdown":
                return

    async def _reply(self, scope: Mapping[str, Any], receive: Receive) -> Reply:
        begin = perf_counter()
        model = None
        try:
            pairs = cast("list[tuple[bytes, bytes]]", scope["headers"])
            headers = Headers({key.decode("latin-1"): value.decode("latin-1") for key, value in pairs})
            self._expect_allowed(headers)
            parts = cast(str, scope["path"]).strip("/").split("/")
            method = "GET" if scope["method"] == "HEAD" else cast(str, scope["method"])
            if parts[:2] != ["v2", "models"]:
                return self._of_server(method, "/".join(parts))
            model, action = self._model(parts[2:])
            if action != "infer":
                return self._of_model(method, model, action)
            _expect_method(method, "POST")
            reply = await self._infer(model, headers, receive)
        except Exception as error:
            reply = _error(error)
        if model is not None:
            model.metrics.answered(reply.status, perf_counter() - begin)
        return reply

    def _expect_allowed(self, headers: Headers) -> None:
        if self._guard.refusal(headers, needs_token=False) is not None:
            text = "the request names another host, or comes from a page of one (--allow-host adds names)"
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, text)
        kind, _, token = cast(str, headers.get("Authorization", "")).partition(" ")
        if self._has_token and not (kind.lower() == "bearer" and self._guard.is_token(token.strip())):
            raise Refused(HTTPStatus.UNAUTHORIZED, "the request lacks the token: Authorization: Bearer TOKEN")

    def _of_server(self, method: str, path: str) -> Reply:
        _expect_method(method, "GET")
        if path == "v2":
            from stepwell import __version__

            extensions = ["binary_tensor_data"]
            return _json({"name": "stepwell", "version": __version__, "extensions": extensions})
        if path == "v2/health/live":
            return _json({"live": True})
        if path == "v2/health/ready":
            return self._ready()
        if path == "metrics":
            models = self._models.values()
            text = metrics_text(
                line for each in models for line in each.metrics.lines(each.name, each.waiting)
            )
            return Reply(HTTPStatus.OK, text.encode(), ((b"content-type", b"text/plain; version=0.0.4"),))
        raise Refused(HTTPStatus.NOT_FOUND, "there is nothing at this path: the protocol begins with /v2")

    def _ready(self) -> Reply:
        return _json({"ready": not self.is_draining}, 503 if self.is_draining else 200)

    def _model(self, parts: list[str]) -> tuple[ServedModel, str]:
        """The model of a path, and the action on it."""
        name, *rest = parts or [""]
        if (model := self._models.get(name)) is None:
            text = f"there is no model {name[:80]!r}: the models are {', '.join(self._models)}"
            raise Refused(HTTPStatus.NOT_FOUND, text)
        if rest[:1] == ["versions"]:
            if rest[1:2] != [VERSION]:
                raise Refused(HTTPStatus.NOT_FOUND, f"model {name!r} has no version but {VERSION}")
            rest = rest[2:]
        if rest not in ([], ["ready"], ["infer"]):
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at this path of model {name!r}")
        return model, "".join(rest)

    def _of_model(self, method: str, model: ServedModel, action: str) -> Reply:
        _expect_method(method, "GET")
        if action == "ready":
            return self._ready()
        sides = {"inputs": model.interface.inputs, "outputs": model.interface.outputs}
        tensors = {
            side: [
                {
                    "name": spec.name,
                    "datatype": datatype_of(spec),
                    "shape": [dim.value if dim.is_static else -1 for dim in spec.dims],
                }
                for spec in specs
            ]
            for side, specs in sides.items()
        }
        return _json({"name": model.name, "versions": [VERSION], "platform": "stepwell", **tensors})

    async def _infer(self, model: ServedModel, headers: Headers, receive: Receive) -> Reply:
        length = headers.get(HEADER_LENGTH)
        _expect_data(headers, length)
        expect_length(headers.get("Content-Length"), self._max_bytes)
        body = await _body(receive, Body(headers.get("Content-Encoding", ""), self._max_bytes))
        request = parse_request(model.interface, body, length)
        outputs = await model.infer(request.inputs)
        done = answer(model.name, VERSION, request, model.interface, outputs)
        if done.header_length is None:
            return Reply(HTTPStatus.OK, done.body)
        size = (HEADER_LENGTH.encode(), str(done.header_length).encode())
        return Reply(HTTPStatus.OK, done.body, ((b"content-type", _BINARY), size))


def app(
    models: Mapping[str, CompiledModel],
    *,
    batching: Batching | None = None,
    token: str | None = None,
    allow_hosts: Collection[str] | None = LOOPBACK,
    max_request_bytes: int = MAX_REQUEST_BYTES,
) -> Application:
    """
    An ASGI application that serves models: the Open Inference Protocol v2 over HTTP, and `/metrics`.

    Args: `models` by the names of their paths; `token` that each request must show; `allow_hosts` are the
    names of this machine in `Host`, None for any.
    Raises: StepwellError `unsupported-interface` for models with states, sequences or maps.
    """
    options = Batching() if batching is None else batching
    served = {name: ServedModel(name, model, options) for name, model in models.items()}
    guard = Guard(None, token=token, names=allow_hosts)
    return Application(served, guard, has_token=token is not None, max_bytes=max_request_bytes)


def _expect_method(method: str, wanted: str) -> None:
    if method != wanted:
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"this path takes {wanted}, found {method[:20]}")


def _expect_data(headers: Headers, header_length: str | None) -> None:
    """
    Refuse the bodies that a page of another host may send without a question before it (CORS).

    Clients other than browsers may leave out the type, as Triton's does: browsers send `Origin`.
    """
    found = cast("str | None", headers.get("Content-Type"))
    if not found and (header_length is not None or headers.get("Origin") is None):
        return
    if (found or "").partition(";")[0].strip().lower().encode() not in (_JSON, _BINARY):
        text = f"Content-Type must be application/json or application/octet-stream, found {found!r:.80}"
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text)


async def _body(receive: Receive, body: Body) -> bytes:
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise bad_request("the client is gone")
        body.add(event.get("body", b""))
        if not event.get("more_body", False):
            return body.finish()


def _json(value: object, status: int = HTTPStatus.OK) -> Reply:
    return Reply(status, json.dumps(value).encode())


def _error(error: Exception) -> Reply:
    refused = refusal_of(error)
    if refused.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("a request failed", exc_info=error)
    reply = _json({"error": refused.text}, refused.status)
    if refused.status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return reply
    return reply._replace(headers=(*reply.headers, (b"connection", b"close")))  # its rest is not read
