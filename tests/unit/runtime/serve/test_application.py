"""The ASGI application: batches, refusals, bounds, metrics."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.serve import Application, app
from tests.unit.runtime.rpc.test_local import SOFTMAX

GATHER = """
<ir_version: 8, opset_import: ["" : 18]>
g (int64[N] x) => (float[N] y) <float[3] t = {1, 2, 4}> { y = Gather(t, x) }
"""
JSON = {"content-type": "application/json"}


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def asked(
    application: Application, path: str, body: bytes | None = None, headers: Mapping[str, str] = JSON
) -> Response:
    """The answer to a GET, or to a POST with a body."""
    sent: list[Any] = []
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    method = "GET" if body is None else "POST"
    scope = {"type": "http", "method": method, "path": path, "headers": pairs}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body or b""}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Response(sent[0]["status"], found, sent[1]["body"])


def ask(application: Application, path: str, body: bytes | None = None, /, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(asked(application, path, body, JSON | named))


def tensor(array: np.ndarray[Any, Any], datatype: str) -> dict[str, Any]:
    return {"name": NAME, "shape": list(array.shape), "datatype": datatype, "data": array.ravel().tolist()}


def request(array: np.ndarray[Any, Any], datatype: str = "FP32", **more: Any) -> bytes:
    return json.dumps({"inputs": [tensor(array, datatype)], **more}).encode()


SOFTMAX_MODEL = stepwell.compile(stepwell.parse(SOFTMAX), threads=1)
GATHER_MODEL = stepwell.compile(onnx.parser.parse_model(GATHER), threads=1)
NAME = SOFTMAX_MODEL.inputs[0].name
INFER = "/v2/models/m/infer"
X = np.random.default_rng(0).standard_normal((2, 17), np.float32)


@pytest.fixture
def served() -> Application:
    return app({"m": SOFTMAX_MODEL, "gather": GATHER_MODEL})


def test_a_request_as_json(served: Application) -> None:
    answer = ask(served, INFER, request(X, id="seven"))
    assert answer.status == 200, answer.body
    assert answer.json()["id"] == "seven"
    (output,) = answer.json()["outputs"]
    found = np.array(output["data"], np.float32).reshape(output["shape"])
    np.testing.assert_array_equal(found, SOFTMAX_MODEL(X))
    assert output["datatype"] == "FP32"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_bodies(served: Application, encoding: str) -> None:
    packed = gzip.compress(request(X)) if encoding == "gzip" else zlib.compress(request(X))
    assert ask(served, INFER, packed, content_encoding=encoding).status == 200
    assert ask(served, INFER, packed[:-9], content_encoding=encoding).status == 400
    assert ask(served, INFER, b"none", content_encoding=encoding).status == 400
    bomb = bytes(65 << 20)
    packed = gzip.compress(bomb, 1) if encoding == "gzip" else zlib.compress(bomb, 1)
    assert ask(served, INFER, packed, content_encoding=encoding).status == 413
    assert ask(served, INFER, packed, content_encoding="br").status == 415


def test_information(served: Application) -> None:
    assert ask(served, "/v2").json()["extensions"] == ["binary_tensor_data"]
    for path in (
        "/v2/health/live",
        "/v2/health/ready",
        "/v2/models/m/ready",
        "/v2/models/m/versions/1/ready",
    ):
        assert ask(served, path).status == 200
    (spec,) = ask(served, "/v2/models/m").json()["inputs"]
    assert spec == {"name": NAME, "datatype": "FP32", "shape": [-1, 17]}
    for path in ("/", "/v2/models", "/v2/models/no", "/v2/models/m/versions/2", "/v2/models/m/no"):
        assert ask(served, path).status == 404
    assert ask(served, "/v2/models/no/infer", b"{}").status == 404


BINARY = (
    b'{"inputs": [{"name": "%s", "shape": [2, 17], "datatype": "FP32", ' % NAME.encode()
    + b'"parameters": {"binary_data_size": %s}}]}'
)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 10_000,
        b'{"inputs": ' + b"[" * 10_000,
        request(X[:, :16]),
        request(X.astype(np.int64), "INT64"),
        request(X).replace(NAME.encode(), b"no_input"),
        request(X).replace(b"[2, 17]", b"[1099511627776, 1099511627776]"),
        request(X).replace(b"[2, 17]", b"[-2, -17]"),
        request(X, "FP33"),
        request(X, outputs=[{"name": "no_output"}]),
        BINARY % b"-1",
        BINARY % b"136",
    ],
)
def test_wrong_requests(served: Application, body: bytes) -> None:
    answer = ask(served, INFER, body)
    assert answer.status == 400 and answer.json()["error"], answer
    assert ask(served, INFER, request(X)).status == 200


def test_bounds_of_bodies(served: Application) -> None:
    assert ask(served, INFER, b"{}", content_length=str(10 << 30)).status == 413
    assert ask(served, INFER, b"{}", content_length="-1").status == 413
    assert ask(app({"m": SOFTMAX_MODEL}, max_request_bytes=100), INFER, bytes(101)).status == 413
    assert ask(served, INFER, request(X), inference_header_content_length="999999").status == 400


def test_who_may_ask() -> None:
    guarded = app({"m": SOFTMAX_MODEL}, token="secret-secret-secret", hosts=("127.0.0.1", "[::1]"))
    good = {"authorization": "Bearer secret-secret-secret", "host": "127.0.0.1:8000"}
    assert ask(guarded, INFER, request(X), **good).status == 200
    assert ask(guarded, "/metrics", **(good | {"authorization": ""})).status == 401
    assert ask(guarded, "/v2", **(good | {"host": "evil.example:8000"})).status == 421
    assert ask(guarded, INFER, request(X), **(good | {"content_type": "text/plain"})).status == 415
    assert (
        ask(guarded, INFER, request(X), **(good | {"content_type": "", "origin": "http://a"})).status == 415
    )


def test_requests_are_joined_and_one_that_fails_fails_alone() -> None:
    joined = app({"m": GATHER_MODEL}, max_batch=16)
    values = [[i % 3] if i != 5 else [7] for i in range(64)]

    async def all_at_once() -> list[Response]:
        bodies = [request(np.array(value), "INT64").replace(NAME.encode(), b"x") for value in values]
        return await asyncio.gather(*(asked(joined, INFER, body) for body in bodies))

    answers = asyncio.run(all_at_once())
    for i, answer in enumerate(answers):
        if i == 5:
            assert answer.status == 400 and "index-out-of-range" in answer.json()["error"]
        else:
            assert answer.status == 200, answer.body
            assert answer.json()["outputs"][0]["data"] == [[1.0, 2.0, 4.0][i % 3]]
    assert joined.models["m"].batcher.calls <= 20
    metrics = ask(joined, "/metrics").body.decode()
    assert 'stepwell_requests_total{model="m",status="200"} 63' in metrics
    assert 'stepwell_waiting{model="m"} 0' in metrics


def test_a_full_queue_refuses() -> None:
    small = app({"m": SOFTMAX_MODEL}, max_batch=1)

    async def all_at_once() -> list[int]:
        return [a.status for a in await asyncio.gather(*(asked(small, INFER, request(X)) for _ in range(40)))]

    statuses = asyncio.run(all_at_once())
    assert set(statuses) == {200, 429}


def test_a_model_with_states_is_refused() -> None:
    from stepwell.runtime.interface import StateSpec

    model = stepwell.compile(stepwell.parse(SOFTMAX))
    entry = model.image.main
    states = entry.interface._replace(states=(StateSpec("s", 0, 0),))
    model.image = model.image._replace(functions={"main": entry._replace(interface=states)})
    with pytest.raises(StepwellError, match="unsupported-interface"):
        app({"m": model})
