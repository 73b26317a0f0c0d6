"""Every op that computes knows the node of the model it comes from, on every level."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, UnknownLoc

from stepwell.passes import run_pipeline
from stepwell.runtime.errors import describe_location
from stepwell.tools.driver.emit import lower_to
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from tests.fuzz.passes import pipelines

ROOT = Path(__file__).resolve().parents[3]
GRAPH_PASSES = (*pipelines(), "to-mixed-precision", "approximate-math")
MODELS = (ROOT / "examples" / "digits.onnx", ROOT / "tests" / "models" / "gru_seq.onnx")
LEVELS = ("onnx", "graph", "linalg", "vector", "loops", "llvm")
# These compute nothing: what they frame has locations.
FRAMES = {"builtin.module", "func.func", "func.return", "graph.yield", "llvm.func"}


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_no_op_forgets_its_node(model: Path, level: str) -> None:
    check_locations(lower_to(model, CompileOptions(), level).module)


@pytest.mark.sample(3)
@pytest.mark.parametrize("pipeline", GRAPH_PASSES)
def test_no_graph_pass_forgets_nodes(pipeline: str) -> None:
    for model in MODELS:
        compilation = start(model, CompileOptions())
        run_pipeline(compilation.module, f"convert-onnx-to-graph,{pipeline}", compilation.ctx)
        check_locations(compilation.module)


def check_locations(module: ModuleOp) -> None:
    """Require the location of a node for each op that computes."""
    computing = [op for op in module.walk() if op.name not in FRAMES]
    lost = [op.name for op in computing if isinstance(op.location, UnknownLoc)]
    assert not lost, f"{len(lost)} of {len(computing)} ops: {sorted(set(lost))}"
    assert any("node" in describe_location(op) for op in computing)
