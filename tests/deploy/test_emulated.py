"""Exported programs for other CPUs, run by emulators and compared with the reference. `make deploy`."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell
from stepwell.lowering.export.emulator.model import EmulatedModel
from stepwell.runtime.image import ModelImage
from stepwell.runtime.targets.cpu import cpu_rows
from stepwell.runtime.targets.triples import system_of
from stepwell.tools import cli
from stepwell.tools.check.check import differences_from_reference
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.inputs import completed_inputs
from tests.support.components import MISSING
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow

HEAD = '<ir_version: 9, opset_import: ["" : 19]>\n'
TEXTS = {
    "convolution": """
g (float[N, 3, 16, 16] x, float[8, 3, 3, 3] w, float[8] b) => (float[N, 8, 8, 8] y) {
  c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b) r = Relu (c)
  y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)
}""",
    "softmax": """
g (float[N, 64] x, float[64, 48] w) => (float[N, 48] y) { m = MatMul (x, w) y = Softmax (m) }""",
    "bytes": """
g (uint8[N, 64] x, int8[64, 32] w) => (int32[N, 32] y) { y = MatMulInteger (x, w) }""",
    "quantized": """
g (float[N, 64] x) => (float[N, 64] y) <float s = {0.05}, uint8 z = {128}> {
  q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Relu (d)
}""",
    "halves": """
g (float16[N, 24] x, float16[24, 40] w) => (float16[N, 40] y) { m = MatMul (x, w) y = Tanh (m) }""",
    "sines": """
g (float[N, 24] x, double[N, 24] z) => (float[N, 24] y, double[N, 24] w) {
  s = Sin (x) c = Cos (x) y = Mul (s, c) e = Exp (z) t = Tanh (z) w = Add (e, t)
}""",
    "casts": """
g (float[N, 9] x, int32[N, 9] i) => (float[N, 9] y, int32[N, 9] j) {
  f = Floor (x) s = Sin (f) d = Cast <to = 11> (s) l = Cast <to = 7> (x) k = Cast <to = 11> (l) p = Mul (d, k)
  r = Round (p) y = Cast <to = 1> (r) n = Abs (i) three = Constant <value_int = 3> ()
  q = Cast <to = 6> (three) m = Add (n, q) j = Div (i, m)
}""",
    "data": """
g (float[N, 5] x) => (int64[2, K] y) { y = NonZero (x) }""",
}
FILES = {"digits": "examples/digits.onnx", "gru": "tests/models/gru_seq.onnx"}
TARGETS = [row.name for row in cpu_rows().values() if row.emulator not in ("native", "none")]


def emulator_of(mcpu: str) -> None:
    """Skip the test where the emulator of a target is not installed."""
    command = cpu_rows()[mcpu].emulator.split()[0]
    if shutil.which(command) is None:
        MISSING.add(command)
        pytest.skip(f"{command} is not installed")


def model_file(name: str, folder: Path) -> Path:
    """The file of a model of this page."""
    if name in FILES:
        return ROOT / FILES[name]
    onnx.save(onnx.parser.parse_model(HEAD + TEXTS[name]), folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def image_of(path: Path, mcpu: str) -> ModelImage:
    return build_image(path, CompileOptions(mcpu=mcpu))


@pytest.mark.parametrize("mcpu", [*TARGETS, "x86-64-v2"])
@pytest.mark.parametrize("name", [*TEXTS, *FILES])
def test_a_program_for_another_cpu_computes_what_the_reference_does(
    name: str, mcpu: str, tmp_path: Path
) -> None:
    if mcpu in TARGETS:
        emulator_of(mcpu)
    path = model_file(name, tmp_path)
    model = EmulatedModel(image_of(path, mcpu))
    feeds = completed_inputs(model.interface, {}, 0, {}, "random")
    try:
        outputs = model.run(feeds)
    except stepwell.StepwellError as error:
        if "decode_save_opc" in str(error):  # of qemu 7.2, at conversions to wider floats
            pytest.skip("this qemu ends at an instruction of RISC-V's vectors, by an assertion of its own")
        raise
    differences = differences_from_reference(path, feeds, outputs)
    assert differences and all(difference.ok for difference in differences), differences


def test_the_command_compares_a_board_with_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    emulator_of("cortex-m4")
    model = str(ROOT / FILES["digits"])
    assert cli.main(["run", model, "--check", "--mcpu", "cortex-m4", "--emulate"]) == 0
    assert "probabilities: ok" in capsys.readouterr().out


@pytest.mark.parametrize("mcpu", [m for m in TARGETS if system_of(cpu_rows()[m].triple) == "linux"])
@pytest.mark.parametrize("name", ["convolution", "data", "digits"])
def test_a_library_for_another_cpu_is_run_as_it_is(
    name: str, mcpu: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emulator_of(mcpu)
    model, library = model_file(name, tmp_path), tmp_path / "m.so"
    stepwell.export(model, library, mcpu=mcpu)
    assert cli.main(["run", str(library), "--emulate", "--check", "--against", str(model)]) == 0
    assert ": ok" in capsys.readouterr().out


@pytest.mark.parametrize("vlen", [256, 512])
def test_code_for_risc_v_has_the_same_bits_at_each_vector_length(
    vlen: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator_of("riscv64gcv")
    path = model_file("convolution", tmp_path)
    model = EmulatedModel(image_of(path, "riscv64gcv"))
    feeds = completed_inputs(model.interface, {}, 0, {}, "random")
    wanted = model.run(feeds)
    command = cpu_rows()["riscv64gcv"].emulator.replace("vlen=128", f"vlen={vlen}").split()
    monkeypatch.setattr(model, "command", command)
    found = model.run(feeds)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    ("mcpu", "without"),
    [("riscv64gcv", "qemu-riscv64 -cpu rv64,v=false"), ("aarch64-sve256", "qemu-aarch64 -cpu cortex-a53")],
)
def test_a_cpu_without_the_vectors_does_not_run_it(
    mcpu: str, without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the code does use them."""
    emulator_of(mcpu)
    model = EmulatedModel(image_of(model_file("softmax", tmp_path), mcpu))
    monkeypatch.setattr(model, "command", without.split())
    feeds = completed_inputs(model.interface, {}, 0, {}, "random")
    with pytest.raises(stepwell.StepwellError, match="emulator-failed"):
        model.run(feeds)


def test_an_error_of_a_call_has_its_node(tmp_path: Path) -> None:
    emulator_of("aarch64")
    text = "g (float[4, 3] x, int64[2] i) => (float[2, 3] y) { [pick] y = Gather (x, i) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "g.onnx")
    model = EmulatedModel(image_of(tmp_path / "g.onnx", "aarch64"))
    x = np.ones((4, 3), np.float32)
    with pytest.raises(stepwell.StepwellError, match="pick") as raised:
        model.run({"x": x, "i": np.array([0, 9])})
    assert raised.value.code == "index-out-of-range"
    assert model.run({"x": x, "i": np.array([0, 1])})["y"].tolist() == [[1.0] * 3] * 2
