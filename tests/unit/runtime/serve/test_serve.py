"""Models behind HTTP, in process: messages, batches, bounds; by a client of ASGI that needs no package."""

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
from stepwell.runtime.serve.application import Application, app
from stepwell.runtime.serve.batches import BatchQueue, Joined, Waiting, batch_symbol
from stepwell.runtime.serve.served import Batching

HEAD = '<ir_version: 9, opset_import: ["" : 19]>\n'
SUM = (
    HEAD
    + "g (float[N, 3] x, float[N, 3] y) => (float[N, 3] s, float[N, 3] p) { s = Add(x, y) p = Mul(x, y) }"
)
OVER_N = HEAD + "g (float[N, 3] x) => (float[N, 3] y) { y = Softmax <axis = 0> (x) }"
FIXED = HEAD + "g (float16[2] h, bool[2] b) => (float16[2] r, bool[2] n) { r = Relu(h) n = Not(b) }"
TEXTS = HEAD + "g (string[2] s) => (string[2] t) { t = Identity(s) }"
PICK = HEAD + "g (int64[N, 1] i) => (float[N, 1] y) <float[3] w = {1, 2, 3}> { y = Gather(w, i) }"


class Got(NamedTuple):
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    server: Application,
    path: str,
    body: bytes | object = None,
    method: str = "",
    pieces: int = 1,
    **headers: str,
) -> Got:
    """Send a request; names of headers are written with underscores."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"host": "localhost:8000", "content-type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    step = max(1, -(-len(data) // pieces))
    events = [data[i : i + step] for i in range(0, len(data), step)] or [b""]
    sent: list[Any] = []

    async def receive() -> Any:
        piece = events.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(events)}

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {
        "type": "http",
        "method": method or ("GET" if body is None else "POST"),
        "path": path,
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    await server(scope, receive, send)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], found, sent[1]["body"])


def get(server: Application, path: str, body: bytes | object = None, **options: Any) -> Got:
    """The answer to one request."""
    return asyncio.run(ask(server, path, body, **options))


def compiled(text: str) -> Any:
    """The model of a text."""
    return stepwell.compile(onnx.parser.parse_model(text), threads=1)


def tensor(name: str, array: Any, datatype: str = "FP32") -> dict[str, Any]:
    """A tensor in JSON."""
    return {"name": name, "shape": list(array.shape), "datatype": datatype, "data": array.tolist()}


@pytest.fixture(scope="module")
def server() -> Application:
    """A server of four models."""
    models = {"sum": SUM, "fixed": FIXED, "texts": TEXTS, "pick": PICK}
    return app({name: compiled(text) for name, text in models.items()}, max_request_bytes=100_000)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_metadata_and_health(server: Application) -> None:
    assert get(server, "/v2").json["extensions"] == ["binary_tensor_data"]
    assert get(server, "/v2/health/live").status == get(server, "/v2/health/ready").status == 200
    assert get(server, "/v2/models/sum/versions/1/ready").status == 200
    found = get(server, "/v2/models/fixed").json
    assert found["inputs"][0] == {"name": "h", "datatype": "FP16", "shape": [2]}
    assert get(server, "/v2/models/sum").json["outputs"][0]["shape"] == [-1, 3]
    assert get(server, "/v2/models/no").status == get(server, "/v2/models/sum/versions/2").status == 404
    assert get(server, "/v2/models/sum/infer").status == 405


def test_json_and_binary_give_the_same(server: Application) -> None:
    request = {"id": "7", "inputs": [tensor("y", X + 1), tensor("x", X)], "outputs": [{"name": "p"}]}
    found = get(server, "/v2/models/sum/infer", request).json
    assert found["id"] == "7" and [output["name"] for output in found["outputs"]] == ["p"]
    np.testing.assert_array_equal(found["outputs"][0]["data"], (X * (X + 1)).ravel())
    inputs = [
        {"name": name, "shape": [2, 3], "datatype": "FP32", "parameters": {"binary_data_size": 24}}
        for name in "xy"
    ]
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    body = head + X.tobytes() + (X + 1).tobytes()
    length = {"inference_header_content_length": str(len(head))}
    got = get(server, "/v2/models/sum/infer", body, pieces=7, **length)
    size = int(got.headers["inference-header-content-length"])
    assert json.loads(got.body[:size])["outputs"][1]["parameters"] == {"binary_data_size": 24}
    np.testing.assert_array_equal(np.frombuffer(got.body[size + 24 :], np.float32), (X * (X + 1)).ravel())
    for name, packed in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))):
        again = get(server, "/v2/models/sum/infer", packed, pieces=3, content_encoding=name, **length)
        assert again.body == got.body


def test_halves_bools_and_strings(server: Application) -> None:
    inputs = [tensor("h", np.array([-1.5, 2.5]), "FP16"), tensor("b", np.array([True, False]), "BOOL")]
    outputs = get(server, "/v2/models/fixed/infer", {"inputs": inputs}).json["outputs"]
    assert [output["data"] for output in outputs] == [[0.0, 2.5], [False, True]]
    inputs = [{"name": "s", "shape": [2], "datatype": "BYTES", "data": ["ä", ""]}]
    found = get(server, "/v2/models/texts/infer", {"inputs": inputs}).json
    assert found["outputs"][0]["data"] == ["ä", ""] and found["outputs"][0]["datatype"] == "BYTES"
    data = b"\2\0\0\0\xc3\xa4\0\0\0\0"
    inputs = [{"name": "s", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": len(data)}}]
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    got = get(server, "/v2/models/texts/infer", head + data, inference_header_content_length=str(len(head)))
    assert got.body.endswith(data)


def with_x(**changes: object) -> Any:
    """A request in which input x is changed."""
    return {"inputs": [tensor("x", X) | changes, tensor("y", X)]}


BAD: dict[str, tuple[Any, str]] = {
    "no JSON": (b"{", "cannot be read"),
    "no object": ([], "expected an object"),
    "depth": (b"[" * 10_000, "nested too deeply"),
    "no input": ({"inputs": []}, "'x', 'y' is missing"),
    "other name": (with_x(name="z"), "did you mean|no input 'z'"),
    "twice": (with_x(name="y"), "given twice"),
    "other type": (with_x(datatype="FP64"), "must be FP32"),
    "few": (with_x(data=[1, 2]), "6 elements, found 2"),
    "texts": (with_x(data=["1"] * 6), "found str"),
    "large": (with_x(shape=[1 << 40, 1 << 40]), "elements, found 6"),
    "negative shape": (with_x(shape=[-2, -3]), "expected a size"),
    "rank": (with_x(shape=[1] * 65 + [6]), "no array has a shape"),
    "uneven": (with_x(shape=[1, 6]), "dimension 1 must be 3"),
    "negative size": (with_x(data=None, parameters={"binary_data_size": -1}), "expected a size, found -1"),
    "no bytes": (with_x(parameters={"binary_data_size": 24}), "has data in the JSON text and"),
    "output": ({**with_x(), "outputs": [{"name": "q"}]}, "no output 'q'"),
    "flag": ({**with_x(), "parameters": {"binary_data_output": 1}}, "must be true or false"),
    "rest": (json.dumps(with_x()).encode() + b"x", "cannot be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests(server: Application, name: str) -> None:
    body, text = BAD[name]
    got = get(server, "/v2/models/sum/infer", body)
    assert got.status == 400 and any(part in got.json["error"] for part in text.split("|")), got
    assert "/" not in got.json["error"]


def test_bounds_of_bodies(server: Application) -> None:
    path = "/v2/models/sum/infer"
    got = get(server, path, b"{}", content_length=str(10 << 30))
    assert got.status == 413 and got.headers["connection"] == "close"
    assert get(server, path, b" " * 100_001, pieces=5).status == 413
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000 and get(server, path, bomb, content_encoding="gzip").status == 413
    tail = gzip.compress(b"{}") + b" " * 100_001
    assert get(server, path, tail, pieces=9, content_encoding="gzip").status == 413
    assert get(server, path, gzip.compress(b"{}")[:-3], content_encoding="gzip").status == 400
    assert get(server, path, b"{}", content_encoding="gzip").status == 400
    assert get(server, path, b"{}", content_encoding="br").status == 415
    assert get(server, path, b"{}", content_length="-1").status == 400
    assert get(server, path, b"{}", inference_header_content_length="3").status == 400


def test_other_hosts_and_pages_are_refused(server: Application) -> None:
    assert get(server, "/v2", host="example.com:8000").status == 421
    assert get(server, "/v2", origin="http://example.com").status == 421
    assert get(server, "/v2", host="127.0.0.1:1").status == 200
    assert get(server, "/v2/models/sum/infer", b"{}", content_type="text/plain").status == 415


def test_a_token_is_compared() -> None:
    guarded = app({"sum": compiled(SUM)}, token="secret")
    assert get(guarded, "/v2").status == get(guarded, "/v2", authorization="Bearer secre").status == 401
    assert get(guarded, "/v2", authorization="Bearer secret").status == 200


def test_an_error_of_the_model_names_its_node_and_no_file(server: Application) -> None:
    inputs = [tensor("i", np.array([[5]]), "INT64")]
    got = get(server, "/v2/models/pick/infer", {"inputs": inputs})
    assert got.status == 400 and "5" in got.json["error"] and "/" not in got.json["error"]


def test_states_sequences_are_refused() -> None:
    text = HEAD + "g (seq(float[N]) s, int64 i) => (float[N] y) { y = SequenceAt(s, i) }"
    with pytest.raises(StepwellError, match="unsupported-interface"):
        app({"m": compiled(text)})


def together(server: Application, name: str, count: int, bad: int = -1) -> list[Got]:
    """The answers to requests at once; one of them may be bad."""

    async def all_of_them() -> list[Got]:
        inputs = [[[7 if i == bad else i % 3]] for i in range(count)]
        bodies = [{"inputs": [tensor("i", np.array(value), "INT64")]} for value in inputs]
        return await asyncio.gather(*(ask(server, f"/v2/models/{name}/infer", body) for body in bodies))

    return asyncio.run(all_of_them())


def metric(server: Application, name: str) -> int:
    """The value of a metric without labels but the model's."""
    lines = get(server, "/metrics").body.decode().splitlines()
    return int(next(line.split()[-1] for line in lines if line.startswith(name + "{")))


def test_requests_at_once_are_batched_and_a_bad_one_fails_alone() -> None:
    server = app({"pick": compiled(PICK)}, batching=Batching(max_batch=16, delay_ms=5))
    found = together(server, "pick", 64)
    assert [got.json["outputs"][0]["data"] for got in found] == [[i % 3 + 1.0] for i in range(64)]
    assert metric(server, "stepwell_batches_total") <= 20
    found = together(server, "pick", 64, bad=9)
    assert [got.status for got in found] == [400 if i == 9 else 200 for i in range(64)]


def test_a_full_queue_refuses() -> None:
    server = app({"pick": compiled(PICK)}, batching=Batching(max_batch=2, delay_ms=50))
    statuses = [got.status for got in together(server, "pick", 40)]
    assert set(statuses) == {200, 429} and 8 <= statuses.count(200) < 20


def test_samples_that_depend_on_each_other_are_not_batched() -> None:
    model = compiled(OVER_N)
    assert batch_symbol(model.interface) == "N"
    server = app({"m": model}, batching=Batching(delay_ms=5))

    async def ask_all() -> list[Got]:
        bodies = [{"inputs": [tensor("x", X * (i + 1))]} for i in range(8)]
        return await asyncio.gather(*(ask(server, "/v2/models/m/infer", body) for body in bodies))

    for _ in range(2):
        for i, got in enumerate(asyncio.run(ask_all())):
            expected = model(X * (i + 1))
            np.testing.assert_array_equal(np.float32(got.json["outputs"][0]["data"]), expected.ravel())


def test_a_member_that_fails_fails_alone() -> None:
    def call(inputs: Any) -> Any:
        if (inputs[0] < 0).any():
            raise ValueError("negative")
        return [inputs[0] * 2]

    found = Joined(call, lambda: None).run([[np.ones((1, 2))], [-np.ones((1, 2))]])
    assert isinstance(found[1], ValueError) and not isinstance(found[0], Exception)
    np.testing.assert_array_equal(found[0][0], [[2, 2]])


def waiting(token: int, samples: int = 1, width: int = 2, arrived: float = 0.0) -> Waiting:
    """A request in a queue."""
    return Waiting((np.zeros((samples, width)),), token, arrived)


def taken(queue: BatchQueue, now: float) -> list[object]:
    """The tokens of the batch of a time."""
    return [request.token for request in queue.take(now)]


def test_the_queue_waits_fills_and_keeps_sizes_apart() -> None:
    queue = BatchQueue(max_batch=4, delay=2.0, bound=9)
    assert queue.next_due() is None
    for request in (waiting(0), waiting(1, width=3, arrived=1.0), waiting(2, arrived=1.5)):
        assert queue.add(request)
    assert taken(queue, 1.9) == [] and queue.next_due() == 2.0
    assert taken(queue, 2.0) == [0, 2] and taken(queue, 2.9) == [] and taken(queue, 3.0) == [1]
    for request in (waiting(3, 3, arrived=5.0), waiting(4, 2, arrived=5.0), waiting(5, 9, arrived=5.0)):
        assert queue.add(request)
    assert taken(queue, 5.0) == [3]  # the next does not fit
    assert taken(queue, 5.0) == [4] and taken(queue, 5.0) == [5] and len(queue) == 0


def test_the_queue_is_bounded() -> None:
    queue = BatchQueue(max_batch=1, delay=2.0, bound=2)
    assert queue.add(waiting(0)) and queue.add(waiting(1)) and not queue.add(waiting(2))
    assert taken(queue, 0.0) == [0] and taken(queue, 0.0) == [1]
