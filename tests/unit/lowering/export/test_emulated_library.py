"""Exported libraries run as programs of their CPU; `make deploy` runs those of other CPUs by emulators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.link.elf import read_object
from stepwell.tools import cli

MODEL = """
<ir_version: 9, opset_import: ["" : 19]>
m (float[N, 4] x, float[M] z) => (float[N, 3] y, int64[1, K] at)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
  y = MatMul (x, w) at = NonZero (z)
}
"""
CPU = "x86-64-v2"


def test_a_library_computes_what_its_model_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file itself is run: with another function in it, nothing is right."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(MODEL), "m.onnx")
    x, z = np.arange(8, dtype=np.float32).reshape(2, 4), np.array([0, 2, 0, 3], np.float32)
    np.savez("in.npz", x=x, z=z)
    stepwell.export("m.onnx", "m.so", name="other", mcpu=CPU)
    line = ["run", "m.so", "--emulate", "--inputs", "in.npz"]
    assert cli.main([*line, "--check", "--against", "m.onnx", "--outputs", "out.npz"]) == 0
    assert "y: ok" in capsys.readouterr().out
    found = np.load("out.npz")
    assert np.array_equal(found["y"], x @ np.arange(1, 13, dtype=np.float32).reshape(4, 3))
    assert np.array_equal(found["at"], [[1, 3]])
    data = bytearray(Path("m.so").read_bytes())
    weights = data.index(np.arange(1, 13, dtype=np.float32).tobytes())
    data[weights : weights + 4] = np.float32(100).tobytes()
    Path("m.so").write_bytes(data)
    assert cli.main([*line, "--check", "--against", "m.onnx"]) == 1


def test_what_no_emulator_can_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = onnx.parser.parse_model(MODEL)
    stepwell.export(model, "apart.so", mcpu=CPU, weights="file")
    stepwell.export(model, "whole.so", mcpu=CPU)
    stepwell.export(model, "whole.a", mcpu=CPU)
    data = Path("whole.so").read_bytes()
    Path("cut.so").write_bytes(data[: len(data) // 2])
    compiled = stepwell.compile(model, mcpu=CPU)
    stepwell.export(stepwell.Library({"a": compiled, "b": compiled}), "two.so")
    for line, message in (
        (["apart.so"], "bad-option]: the library's weights are in another file"),
        (["whole.a"], "bad-option]: of exported files an emulator runs libraries for Linux"),
        (["cut.so"], "bad-artifact]: this is no whole library"),
        (["two.so"], "no-main]: the artifact is a library of a, b"),
        (["none.so"], "no-file]: cannot read the library"),
        (["whole.so", "--mcpu", "aarch64"], "bad-option]: --mcpu is for compiling"),
        (["whole.so", "--check"], "no-reference]: --check needs a model"),
    ):
        assert cli.main(["run", *line, "--emulate"]) == 1
        assert f"error[{message}" in capsys.readouterr().err


def test_maxima_of_f64_are_functions_where_no_instruction_is(tmp_path: Path) -> None:
    """LLVM calls `fmaximum` there, which nothing defined."""
    text = "m (double[N, 4] x, double[N, 4] z) => (double[N, 4] y) { a = Max (x, z) y = Min (a, x) }"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]>\n{text}')
    stepwell.export(model, tmp_path / "m.o", mcpu="riscv32")
    symbols = {symbol.name: symbol.section for symbol in read_object((tmp_path / "m.o").read_bytes()).symbols}
    assert symbols["fmaximum"] and symbols["fminimum"]


def test_an_artifact_that_is_exported_is_not_said_to_be_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = stepwell.compile(onnx.parser.parse_model(MODEL))
    compiled.save(tmp_path / "m.stepwell")
    assert cli.main(["compile", str(tmp_path / "m.stepwell"), "-o", str(tmp_path / "m.a")]) == 0
    shown = capsys.readouterr().err
    assert shown.startswith("wrote ") and "kernels" not in shown
    for name in ("m.foo", "m.so", "m"):
        with pytest.raises(stepwell.StepwellError, match="unknown-file-type"):
            compiled.save(tmp_path / name)
    assert not (tmp_path / "m.foo").exists()
