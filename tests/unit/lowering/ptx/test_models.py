"""Models as PTX on its interpreter, compared with level 2 and with the CPU."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell as sw
from stepwell import Target
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.run_part import load_part
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.support.devices.gpu_models import MODELS, agree, small_model
from tests.support.imports import ROOT

DIGITS = ROOT / "examples/digits.onnx"


def one(result: object) -> Any:
    """The only result of a call."""
    assert isinstance(result, np.ndarray)
    return result


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", MODELS)
def test_small_models(name: str, tmp_path: Path) -> None:
    agree(*small_model(name, tmp_path), lambda module: ptx_launcher(module, Target("cuda")))


@pytest.mark.slow
def test_a_trained_model_for_several_sizes_by_one_compilation() -> None:
    on_device = sw.compile(DIGITS, target="cuda{arch=sm_90}", device="ptx-interpreter", use_cache=False)
    here = sw.compile(DIGITS)
    for rows in (1, 3, 0):
        x = np.random.default_rng(rows).standard_normal((rows, 64), np.float32)
        np.testing.assert_allclose(one(on_device(x)), one(here(x)), atol=3e-6)


def test_an_artifact_runs_where_it_was_compiled_for(tmp_path: Path) -> None:
    path, inputs = small_model("product", tmp_path)
    compiled = sw.compile(path, target="cuda{arch=sm_90}", device="ptx-interpreter", use_cache=False)
    (callee,) = compiled.image.main.callees
    part = DevicePart.from_bytes(callee.code)
    assert list(part.codes) == ["ptx", "gpu"] and b".target sm_90\n" in part.codes["ptx"]
    compiled.save(file := tmp_path / "m.stepwell")
    expected = one(sw.compile(path)(*inputs))
    np.testing.assert_allclose(one(sw.load(file)(*inputs)), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", ["ptx-interpreter", "gpu-interpreter"])
def test_a_race_in_a_file_is_found_by_both(
    device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/devices/write-a-gpu-kernel.md").read_text()
    text = page.partition("```mlir file=reverse.mlir\n")[2].partition("```")[0]
    (right := tmp_path / "reverse.mlir").write_text(text)
    (wrong := tmp_path / "race.mlir").write_text(text.replace("gpu.barrier", ""))
    outputs = tmp_path / "out.npz"
    assert cli.main(["run", str(right), "--device", device, "--outputs", str(outputs)]) == 0
    found = np.load(outputs)
    np.testing.assert_array_equal(found["y"], found["x"][::-1])
    assert cli.main(["run", str(wrong), "--device", device]) == 1
    assert "error[data-race]: thread" in capsys.readouterr().err


def test_ptx_of_another_version_is_refused(tmp_path: Path) -> None:
    path, inputs = small_model("elementwise", tmp_path)
    compiled = sw.compile(path, target="cuda", device="ptx-interpreter", use_cache=False)
    (callee,) = compiled.image.main.callees
    part = DevicePart.from_bytes(callee.code)
    assert b"add.rn.f32" in part.codes["ptx"]
    changed = {"ptx": part.codes["ptx"].replace(b"add.rn.f32", b"add.rz.f32")}
    run = load_part(replace(part, codes=changed).to_bytes())
    with pytest.raises(StepwellError, match="line .*add.rz.f32") as error:
        run(inputs, [np.zeros((3, 41), np.float32)])
    assert error.value.code == "unsupported-ptx"
