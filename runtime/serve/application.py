"""The ASGI application: routes of the Open Inference Protocol v2, and metrics."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.log import logger
from stepwell.runtime.serve.protocol import HEADER_LENGTH, Refusal, answer_bytes, inflated, read_request
from stepwell.runtime.serve.request_guard import RequestGuard
from stepwell.runtime.serve.served_model import ServedModel

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_log = logger(__name__)
_EXTENSIONS = ["binary_tensor_data"]
_OWN_FAULTS = frozenset({"internal", "out-of-memory", "host-failed"})
"""Errors of a call that are not the request's."""


class Answer(NamedTuple):
    """An answer of HTTP."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {"content-type": "application/json"}


class Application:
    """An ASGI application that serves models."""

    def __init__(self, models: Mapping[str, ServedModel], guard: RequestGuard, max_request_bytes: int):
        self.models = models
        self._guard, self._most = guard, max_request_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or follow the lifespan."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            answer = await self._answered(scope, receive)
            headers = {**answer.headers, "content-length": str(len(answer.body))}
            pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": answer.status, "headers": pairs})
            await send({"type": "http.response.body", "body": answer.body})

    async def _live(self, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        for model in self.models.values():
            model.batcher.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answered(self, scope: Message, receive: Receive) -> Answer:
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            self._guard.check(scope["method"], headers)
            return await self._routed(scope["method"], scope["path"], headers, receive)
        except Refusal as refusal:
            return _error(refusal.status, refusal.reason)
        except Exception as error:
            _log(0, "a request failed: {!r}", error)
            return _error(500, "the request failed in the server")

    async def _routed(self, method: str, path: str, headers: Mapping[str, str], receive: Receive) -> Answer:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if method == "POST" and parts[:2] == ["v2", "models"]:
            model, rest = self._named(parts[2:])
            if rest == ["infer"]:
                return await self._infer(model, headers, receive)
        elif method == "GET":
            if (answer := self._information(parts)) is not None:
                return answer
        raise Refusal(404, "there is nothing at this address")

    def _information(self, parts: list[str]) -> Answer | None:
        match parts:
            case ["metrics"]:
                return Answer(200, self._metrics(), {"content-type": "text/plain; version=0.0.4"})
            case ["v2"]:
                from stepwell import __version__

                return _json({"name": "stepwell", "version": __version__, "extensions": _EXTENSIONS})
            case ["v2", "health", "live" | "ready"]:
                return Answer(200, b"", {})
            case ["v2", "models", *rest]:
                model, rest = self._named(rest)
                if rest == ["ready"]:
                    return Answer(200, b"", {})
                return None if rest else _json(model.description())
            case _:
                return None

    def _named(self, parts: list[str]) -> tuple[ServedModel, list[str]]:
        """The model that a path names, and the rest of the path. Raises: Refusal 404."""
        name, *rest = parts or [""]
        if name not in self.models:
            raise Refusal(404, f"there is no model {name!r:.100}")
        if rest[:1] == ["versions"]:
            if rest[1:2] != ["1"]:
                raise Refusal(404, f"model {name!r} has version 1 alone")
            rest = rest[2:]
        return self.models[name], rest

    async def _infer(self, model: ServedModel, headers: Mapping[str, str], receive: Receive) -> Answer:
        answer = await self._inferred(model, headers, receive)
        model.answers[answer.status] += 1
        return answer

    async def _inferred(self, model: ServedModel, headers: Mapping[str, str], receive: Receive) -> Answer:
        try:
            body = await self._body(headers, receive)
            plain = inflated(body, headers.get("content-encoding", "").strip().lower(), self._most)
            request = read_request(plain, headers.get(HEADER_LENGTH))
            outputs = await model.infer(request)
            data, head_bytes = answer_bytes(model.name, request, outputs)
        except Refusal as refusal:
            return _error(refusal.status, refusal.reason)
        except StepwellError as error:
            text = " ".join((f"{error.code}: {error.message}", *(f"({note})" for note in error.notes)))
            return _error(500 if error.code in _OWN_FAULTS else 400, text)
        if head_bytes is None:
            return Answer(200, data)
        return Answer(200, data, {"content-type": "application/octet-stream", HEADER_LENGTH: str(head_bytes)})

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """The body of a request. Raises: Refusal 413."""
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > self._most:
            raise Refusal(413, f"a body has at most {self._most} bytes")
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the body is cut off")
            body += message.get("body", b"")
            if len(body) > self._most:
                raise Refusal(413, f"a body has at most {self._most} bytes")
            if not message.get("more_body"):
                return bytes(body)

    def _metrics(self) -> bytes:
        rows = sorted(row for model in self.models.values() for row in model.metrics())
        lines: list[str] = []
        before = ""
        for name, labels, value in rows:
            if name != before:
                kind = "counter" if name.endswith("_total") else "gauge"
                lines.append(f"# TYPE stepwell_{name} {kind}")
            before = name
            lines.append(f"stepwell_{name}{{{labels}}} {value:g}")
        return ("\n".join(lines) + "\n").encode()


def _json(value: Mapping[str, object], status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode())


def _error(status: int, text: str) -> Answer:
    return _json({"error": text}, status)
