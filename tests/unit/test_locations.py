"""Every op that computes knows the node of the model it comes from, on every level."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import UnknownLoc

from stepwell.runtime.errors import describe_location
from stepwell.tools.driver import CompileOptions
from stepwell.tools.emit import lower_to

ROOT = Path(__file__).resolve().parents[2]
MODELS = (ROOT / "examples" / "digits.onnx", ROOT / "tests" / "models" / "gru_seq.onnx")
LEVELS = ("onnx", "graph", "linalg", "vector", "loops", "llvm")
# These compute nothing: what they frame has locations.
FRAMES = {"builtin.module", "func.func", "func.return", "graph.yield", "llvm.func"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_no_op_forgets_its_node(model: Path, level: str) -> None:
    module = lower_to(model, CompileOptions(), level).module
    computing = [op for op in module.walk() if op.name not in FRAMES]
    lost = [op.name for op in computing if isinstance(op.location, UnknownLoc)]
    assert not lost, f"{len(lost)} of {len(computing)} ops: {sorted(set(lost))}"
    assert any("node" in describe_location(op) for op in computing)
