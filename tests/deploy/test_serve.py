"""The server as a process of its own, asked by Triton's client; its end by a signal. `make deploy`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from time import sleep

import numpy as np
import onnx
import onnx.parser
import pytest

from tests.support.components import needs

pytestmark = pytest.mark.slow
needs("uvicorn")

HEAD = '<ir_version: 9, opset_import: ["" : 19]>\n'
TEXTS = {
    "sum": """
g (float[N, 3] x, float[N, 3] y) => (float[N, 3] s, float[N, 3] p) { s = Add(x, y) p = Mul(x, y) }""",
    "fixed": "g (float16[2] h, bool[2] b) => (float16[2] r, bool[2] n) { r = Relu(h) n = Not(b) }",
    "texts": "g (string[2] s) => (string[2] t) { t = Identity(s) }",
}


class Server:
    """`stepwell serve` of the models, at a port of its own."""

    def __init__(self, folder: Path):
        files = [folder / f"{name}.onnx" for name in TEXTS]
        for file in files:
            onnx.save(onnx.parser.parse_model(HEAD + TEXTS[file.stem]), file)
        command = [
            sys.executable,
            "-m",
            "stepwell",
            "serve",
            *map(str, files),
            "--port",
            "0",
            "--threads",
            "1",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line
        self.address = line.split("//")[1].strip()


@pytest.fixture
def server(tmp_path: Path) -> Generator[Server]:
    """A server that ends with the test."""
    started = Server(tmp_path)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def test_tritons_client(server: Server) -> None:
    http = needs("tritonclient.http")
    client = http.InferenceServerClient(server.address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("sum")
    assert client.get_server_metadata()["name"] == "stepwell"
    assert client.get_model_metadata("sum")["inputs"][0]["shape"] == [-1, 3]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def given(name: str, array: np.ndarray, datatype: str, binary: bool = True) -> object:
        tensor = http.InferInput(name, list(array.shape), datatype)
        tensor.set_data_from_numpy(array, binary_data=binary)
        return tensor

    for binary in (True, False):
        for packed in (None, "gzip", "deflate"):
            inputs = [given("x", x, "FP32", binary), given("y", x + 1, "FP32", binary)]
            outputs = [http.InferRequestedOutput("p", binary_data=binary)]
            found = client.infer(
                "sum", inputs, outputs=outputs, request_id="7", request_compression_algorithm=packed
            )
            np.testing.assert_array_equal(found.as_numpy("p"), x * (x + 1))
            assert found.as_numpy("s") is None and found.get_response()["id"] == "7"
    halves, flags = np.array([-1, 2], np.float16), np.array([True, False])
    found = client.infer("fixed", [given("h", halves, "FP16"), given("b", flags, "BOOL")])
    np.testing.assert_array_equal(found.as_numpy("r"), np.maximum(halves, 0))
    np.testing.assert_array_equal(found.as_numpy("n"), ~flags)
    texts = np.array(["ä", "bc"], np.object_)
    found = client.infer("texts", [given("s", texts, "BYTES")])
    assert [value.decode() for value in found.as_numpy("t")] == ["ä", "bc"]
    for name, inputs, status in (
        ("none", [given("x", x, "FP32")], "404"),
        ("sum", [given("x", x, "FP32"), given("y", x[:, :2].copy(), "FP32")], "400"),
        ("sum", [given("z", x, "FP32"), given("y", x, "FP32")], "400"),
    ):
        with pytest.raises(needs("tritonclient.utils").InferenceServerException) as raised:
            client.infer(name, inputs)
        assert raised.value.status() == status
    client.close()


def test_a_signal_ends_the_server_after_what_has_begun(server: Server) -> None:
    tensors = [{"name": name, "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]} for name in "xy"]
    body = json.dumps({"inputs": tensors}).encode()
    connection = HTTPConnection(server.address, timeout=60)
    connection.putrequest("POST", "/v2/models/sum/infer")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    connection.send(body[:20])
    sleep(0.5)
    server.process.send_signal(signal.SIGTERM)
    sleep(0.5)
    assert server.process.poll() is None
    connection.send(body[20:])
    assert json.load(connection.getresponse())["outputs"][1]["data"] == [1, 4, 9]
    assert server.process.wait(timeout=30) in (0, -signal.SIGTERM)


def resident(process: int) -> int:
    """The memory of a process in bytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_noise_ends_its_connection_and_memory_does_not_grow(server: Server) -> None:
    host, port = server.address.split(":")
    infer = b"POST /v2/models/sum/infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    heads = [
        b"",
        b"\x16\x03\x01",
        b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nX: ",
        infer + b"Content-Length: 10737418240\r\n\r\n",
        infer + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\n",
    ]
    before = resident(server.process.pid)
    for head in heads:
        with socket.create_connection((host, int(port)), timeout=5) as noise, suppress(OSError):
            noise.sendall(head)  # an error: the server has closed it
            for _ in range(80):
                noise.sendall(os.urandom(1 << 20))
    assert resident(server.process.pid) - before < 100 << 20
    connection = HTTPConnection(server.address, timeout=30)
    connection.request("GET", "/v2/health/live")
    assert connection.getresponse().status == 200 and server.process.poll() is None


def test_a_port_has_one_server(server: Server, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stepwell", "serve", str(tmp_path / "sum.onnx"), "--port"]
    second = subprocess.run(
        [*command, server.address.split(":")[1]], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1 and "error[cannot-serve]" in second.stderr and "in use" in second.stderr
    assert "Traceback" not in second.stderr
