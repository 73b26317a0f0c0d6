"""`stepwell serve` as a process, asked by Triton's client."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import stepwell
from tests.unit.runtime.rpc.test_local import SOFTMAX

http = pytest.importorskip("tritonclient.http", reason="tritonclient[http] is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

TWO = """
<ir_version: 8, opset_import: ["" : 18]>
g (float16[N,3] x, bool[N,3] c) => (float16[N,3] y, bool[N,3] n) { y = Where(c, x, x) n = Not(c) }
"""
STRINGS = """
<ir_version: 8, opset_import: ["" : 18]>
g (string[N] x) => (string[N] y) { y = Identity(x) }
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("models")
    stepwell.compile(stepwell.parse(SOFTMAX)).save(folder / "softmax.stepwell")
    stepwell.compile(onnx.parser.parse_model(TWO)).save(folder / "two.stepwell")
    stepwell.compile(onnx.parser.parse_model(STRINGS)).save(folder / "strings.stepwell")
    models = [str(folder / f"{name}.stepwell") for name in ("softmax", "two", "strings")]
    command = [sys.executable, "-m", "stepwell", "serve", *models, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        line = server.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line
        yield line.strip().rpartition("/")[2]
        server.terminate()
        assert server.wait(30) in (0, -15)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@pytest.mark.parametrize("binary", [True, False])
def test_triton_client(address: str, binary: bool) -> None:
    client = http.InferenceServerClient(address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("softmax")
    meta = client.get_model_metadata("softmax")
    name, output = meta["inputs"][0]["name"], meta["outputs"][0]["name"]
    x = np.random.default_rng(0).standard_normal((2, 17), np.float32)
    given = http.InferInput(name, x.shape, "FP32")
    given.set_data_from_numpy(x, binary_data=binary)
    wanted = [http.InferRequestedOutput(output, binary_data=binary)]
    for compression in (None, "gzip", "deflate"):
        answer = client.infer(
            "softmax", [given], outputs=wanted, request_id="r", request_compression_algorithm=compression
        )
        np.testing.assert_allclose(answer.as_numpy(output).sum(1), 1, rtol=1e-5)
        assert answer.get_response()["id"] == "r"
    for model, data in (("no", x), ("softmax", x[:, :16])):
        given = http.InferInput(name, data.shape, "FP32")
        given.set_data_from_numpy(np.ascontiguousarray(data))
        with pytest.raises(Exception, match=r"\[(400|404)\]|shape-mismatch|no model"):
            client.infer(model, [given])
    client.close()


def test_triton_client_with_two_inputs(address: str) -> None:
    client = http.InferenceServerClient(address)
    meta = client.get_model_metadata("two")
    arrays = [np.array([[1, 2, 3]], np.float16), np.array([[True, False, True]])]
    inputs = []
    for row, array in zip(meta["inputs"], arrays, strict=True):
        inputs.append(http.InferInput(row["name"], array.shape, row["datatype"]))
        inputs[-1].set_data_from_numpy(array)
    answer = client.infer("two", inputs)
    names = [row["name"] for row in meta["outputs"]]
    np.testing.assert_array_equal(answer.as_numpy(names[0]), arrays[0])
    np.testing.assert_array_equal(answer.as_numpy(names[1]), [[False, True, False]])
    client.close()


@pytest.mark.parametrize("binary", [True, False])
def test_triton_client_with_strings(address: str, binary: bool) -> None:
    client = http.InferenceServerClient(address)
    texts = np.array(["a", "", "äöü"], object)
    given = http.InferInput("x", texts.shape, "BYTES")
    given.set_data_from_numpy(texts, binary_data=binary)
    wanted = [http.InferRequestedOutput("y", binary_data=binary)]
    found = client.infer("strings", [given], outputs=wanted).as_numpy("y").tolist()
    assert [text.decode() if isinstance(text, bytes) else text for text in found] == texts.tolist()
    client.close()


def test_addresses_that_others_reach(tmp_path: Path) -> None:
    stepwell.compile(stepwell.parse(SOFTMAX)).save(tmp_path / "m.stepwell")
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    command = [sys.executable, "-m", "stepwell", "serve", str(tmp_path / "m.stepwell"), "--host", "0.0.0.0"]
    for more, needs in (([], "a token"), (["--token-file", str(token)], "TLS")):
        ended = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60)
        assert ended.returncode == 1 and "insecure-address" in ended.stderr and needs in ended.stderr
