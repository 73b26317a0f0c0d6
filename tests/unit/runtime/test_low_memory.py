"""`--memory low`: packed weights are no larger than the model's own, and results are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.target import target_from
from stepwell.tools import cli
from tests.support.pipelines import graph_pipeline


def initializers() -> dict[str, Array]:
    rng = np.random.default_rng(3)
    filters = rng.standard_normal((64, 64, 3, 3)).astype(np.float32)
    return {"w": filters, "m": rng.integers(-99, 99, (64, 64)).astype(np.int8)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A 3x3 convolution that Winograd wins much in, twice with the same filters, and a product of bytes."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w"], ["y"], pads=[1, 1, 1, 1]),
        helper.make_node("MatMulInteger", ["b", "m"], ["z"]),
    ]
    image = [1, 64, 28, 28]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, image),
            helper.make_tensor_value_info("b", TensorProto.UINT8, [4, 64]),
        ],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, image),
            helper.make_tensor_value_info("z", TensorProto.INT32, [4, 64]),
        ],
        [numpy_helper.from_array(array, name) for name, array in initializers().items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (path := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    return path


def test_weights_take_what_the_model_s_do(file: Path) -> None:
    own = sum(array.nbytes for array in initializers().values())
    low, fast = (stepwell.compile(file, memory=memory, use_cache=False) for memory in ("low", "normal"))
    taken = {w.ctypes.data: w.nbytes for w in low.image.weights}
    assert sum(taken.values()) <= 1.05 * own < sum(w.nbytes for w in fast.image.weights)
    assert all(w.ctypes.data % 64 == 0 for w in low.image.weights)
    rng = np.random.default_rng(4)
    feeds = {
        "x": rng.standard_normal((1, 64, 28, 28)).astype(np.float32),
        "b": rng.integers(0, 255, (4, 64)).astype(np.uint8),
    }
    (y, z), (fast_y, fast_z) = (model.run(feeds).values() for model in (low, fast))
    exact, found = (value.astype(np.float64) for value in (fast_y, y))
    assert np.abs(found - exact).max() <= 1e-5 * (exact.max() - exact.min())
    np.testing.assert_array_equal(z, fast_z)


def test_bytes_stay_bytes_without_vnni() -> None:
    v3 = target_from("x86-64-v3")
    assert "shorts=true" in graph_pipeline(2, v3)
    low = graph_pipeline(2, v3, low_memory=True)
    assert "shorts=false" in low and "winograd-conv" not in low


def test_options(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", str(file), "--memory", "low", "--print-pipeline"]) == 0
    assert "winograd-conv" not in capsys.readouterr().out
    with pytest.raises(stepwell.StepwellError, match="memory must be one of normal, low"):
        stepwell.compile(file, memory="none")  # pyright: ignore[reportArgumentType]
