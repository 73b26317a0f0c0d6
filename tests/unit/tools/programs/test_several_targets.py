"""Artifacts for several targets: `stepwell compile --target a,b`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli
from stepwell.tools.driver.versions.several_targets import targets_of

HERE = {"x86_64": "x86-64-v2", "aarch64": "aarch64"}.get(host_target().arch, "")
ELSEWHERE = {"x86-64-v2": "aarch64", "aarch64": "x86-64-v2"}.get(HERE, "")
MODEL = """
<ir_version: 8, opset_import: ["" : 18]>
m (float[N, 300] x) => (float[N, 300] y) { y = MatMul (x, w) }
"""
RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((300, 300)).astype(np.float32)
pytestmark = pytest.mark.skipif(not HERE, reason="the table has no target of this machine")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    proto = onnx.parser.parse_model(MODEL)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(TABLE, "w"))
    onnx.save(proto, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def compiled(model: Path, targets: str, *options: str) -> int:
    output = model.with_suffix(".stepwell")
    return cli.main(["compile", str(model), "--target", targets, "-o", str(output), *options])


def test_loading_takes_the_first_target_that_the_machine_runs(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = RNG.standard_normal((3, 300)).astype(np.float32)
    assert compiled(model, HERE) == 0
    alone, size = (
        stepwell.load(model.with_suffix(".stepwell"))(x),
        model.with_suffix(".stepwell").stat().st_size,
    )
    assert compiled(model, f"{ELSEWHERE},riscv64,{HERE}") == 0
    image, loaded = load_image(model.with_suffix(".stepwell")), stepwell.load(model.with_suffix(".stepwell"))
    assert len(image.targets) == 3 and len(image.functions) == 3
    np.testing.assert_array_equal(loaded(x), alone)
    assert loaded.image.main.variants[0].triple.startswith(host_target().arch)
    # Weights that are packed alike are there once: three models have less than two tables.
    assert sum(array.nbytes for array in image.weights) < 3 * TABLE.nbytes
    assert model.with_suffix(".stepwell").stat().st_size < 3 * size
    capsys.readouterr()
    assert cli.main(["inspect", str(model.with_suffix(".stepwell"))]) == 0
    assert capsys.readouterr().out.count("target: ") == 3
    assert cli.main(["inspect", str(model.with_suffix(".stepwell")), "--tree"]) == 0
    with pytest.raises(StepwellError, match="bad-option.*the code of one target"):
        stepwell.export(model.with_suffix(".stepwell"), model.with_suffix(".so"))


def test_a_session_takes_the_target_of_its_machine(model: Path) -> None:
    assert compiled(model, f"{ELSEWHERE},{HERE}") == 0
    with stepwell.rpc.local() as session:
        there = session.load(model.with_suffix(".stepwell"), threads=1)
        x = RNG.standard_normal((3, 300)).astype(np.float32)
        found = np.asarray(there(x), np.float64)
        np.testing.assert_allclose(found, x @ TABLE, rtol=1e-4, atol=1e-4)


def test_a_machine_of_none_of_the_targets(model: Path) -> None:
    assert compiled(model, f"{ELSEWHERE},riscv64") == 0
    with pytest.raises(StepwellError, match="wrong-cpu.*none of the targets") as error:
        stepwell.load(model.with_suffix(".stepwell"))
    assert "riscv64" in error.value.render()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("targets", "options"),
    [
        (f"{HERE},{HERE}", []),
        (f"{HERE},", []),
        (f"{HERE},{ELSEWHERE}", ["--specialize", "N=1"]),
        (f"{HERE},{ELSEWHERE}", ["--emit", "loops"]),
        (f"{HERE},{ELSEWHERE}", ["-o", "m.so"]),
        (f"{HERE},{ELSEWHERE}", ["-o", "m.c"]),
    ],
)
def test_what_one_file_cannot_be(
    model: Path, targets: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert compiled(model, targets, *options) == 1
    assert "error[bad-option]" in capsys.readouterr().err
    assert [path.name for path in model.parent.iterdir()] == ["m.onnx"]


def test_commas_in_braces_are_the_targets_own() -> None:
    assert targets_of("cpu{mcpu=aarch64, cores=4},x86-64-v2") == ("cpu{mcpu=aarch64, cores=4}", "x86-64-v2")
    assert targets_of("aarch64") == ("aarch64",) and targets_of(None) == ()
    assert targets_of("gpu0=cuda{arch=sm_90},npu0=npu") == ("gpu0=cuda{arch=sm_90},npu0=npu",)
