"""Programs as files: models, IR with its weights beside it, parts of files."""

from pathlib import Path

import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.instruments import module_text
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.ir_files import read_ir, read_parts, weights_beside, write_ir

MODEL = Path(__file__).resolve().parents[2] / "models" / "gru_seq.onnx"


def test_weights_travel_beside_the_ir(tmp_path: Path) -> None:
    ctx = StepwellContext()
    module = read_parts(str(MODEL))[0].read(ctx)
    write_ir(tmp_path / "m.mlir", module_text(module), ctx)
    again = StepwellContext()
    assert read_ir(tmp_path / "m.mlir", again).is_structurally_equivalent(module)
    assert len(ctx.weights) > 0
    for key in ctx.weights:
        assert (again.weights.get(key) == ctx.weights.get(key)).all()


def test_ir_without_weights_has_no_file_of_weights(tmp_path: Path) -> None:
    write_ir(tmp_path / "m.mlir", "func.func private @f()\n", StepwellContext())
    assert not weights_beside(tmp_path / "m.mlir").exists()


def test_parts_keep_their_line_numbers(tmp_path: Path) -> None:
    file = tmp_path / "two.mlir"
    file.write_text("func.func private @f()\n// -----\nfunc.func private @g(\n")
    first, second = read_parts(str(file), split=True)
    first.read(StepwellContext())
    with pytest.raises(StepwellError, match=r"two.mlir:4:1"):
        second.read(StepwellContext())


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="no-file"):
        read_ir(tmp_path / "none.mlir", StepwellContext())
