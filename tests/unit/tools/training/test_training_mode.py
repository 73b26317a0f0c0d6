"""Dropout and batch normalization in training: statistics, masks, and equal bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from tests.commands import written
from tests.onnx_models import onnx_model
from tests.support.samples import whole

Array = npt.NDArray[Any]
RNG = np.random.default_rng(4)
X = (2 * RNG.standard_normal((64, 3, 4)) + 1).astype(np.float32)
LABELS = RNG.integers(0, 2, 64)
WEIGHTS: dict[str, Array] = {
    "s": np.array([0.5, 1.0, 1.5], np.float32),
    "b": np.array([0.0, 0.5, -0.5], np.float32),
    "m": np.array([0.25, 0.5, -0.25], np.float32),
    "v": np.array([1.0, 2.0, 3.0], np.float32),
    "w": RNG.standard_normal((12, 2)).astype(np.float32),
    "r": np.array(0.25, np.float32),
    "t": np.array(False),
}
NORM = "BatchNormalization<momentum = 0.8>(x, s, b, m, v)"


def model_file(folder: Path, *, norm: str = NORM, opset: int = 17, marked: bool = False) -> Path:
    """A network with both operators."""
    outputs = "a, p, q" if "training_mode" in norm else "a"
    drop = "Dropout(a, r, t)" if opset >= 12 else "Dropout<ratio = 0.25>(a)"
    flags = ", float r, bool t" if opset >= 12 else ""
    proto = onnx_model(
        f"g (float[N,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v, float[12,2] w{flags})"
        f"=> (float[N,2] y) {{ {outputs} = {norm} c = {drop} d = Flatten(c) y = MatMul(d, w) }}",
        opset,
    )
    for value in proto.graph.input[1:]:
        array = np.array(marked) if value.name == "t" else WEIGHTS[value.name]
        proto.graph.initializer.append(numpy_helper.from_array(array, value.name))
    del proto.graph.input[1:]
    return written(folder / "m.onnx", proto)


def trainer(path: Path, **options: Any) -> stepwell.Trainer:
    options = {"loss": "cross_entropy", "optimizer": "sgd", "lr": 0.1, "threads": 1, **options}
    return stepwell.Trainer(path, **options)


def as_float(value: Any) -> npt.NDArray[np.float64]:
    return np.asarray(value, np.float64)


def moved(statistic: Array, batch: Array, steps: int) -> Array:
    for _ in range(steps):
        statistic = 0.8 * statistic + 0.2 * batch
    return statistic


@pytest.mark.parametrize("opset", [pytest.param(9, marks=whole), 17])
def test_running_statistics_are_states(tmp_path: Path, opset: int):
    found = trainer(model_file(tmp_path, opset=opset), training_mode=True)
    assert list(found.state) == ["s", "b", "w", "lr", "m", "v", "draws"] and list(found.parameters) == [
        "s",
        "b",
        "w",
    ]
    for _ in range(3):
        found.step(X, LABELS)
    mean, variance = X.astype(np.float64).mean((0, 2)), X.astype(np.float64).var((0, 2))
    np.testing.assert_allclose(as_float(found.state["m"]), moved(WEIGHTS["m"], mean, 3), rtol=1e-5)
    np.testing.assert_allclose(as_float(found.state["v"]), moved(WEIGHTS["v"], variance, 3), rtol=1e-5)
    before = dict(found.state)
    assert found.gradients(X, LABELS).keys() == {"s", "b", "w"}
    assert all(np.array_equal(before[name], found.state[name]) for name in before)
    found.to_onnx(tmp_path / "tuned.onnx")
    tuned = {
        each.name: numpy_helper.to_array(each)
        for each in onnx.load(tmp_path / "tuned.onnx").graph.initializer
    }
    for name in ("s", "b", "w", "m", "v"):
        np.testing.assert_array_equal(tuned[name], before[name])
    found.save(tmp_path / "state.npz")
    ahead = [found.step(X, LABELS) for _ in range(2)]
    found.restore(tmp_path / "state.npz")
    assert [found.step(X, LABELS) for _ in range(2)] == ahead


def test_the_forward_model_uses_running_statistics(tmp_path: Path):
    found = trainer(model_file(tmp_path), training_mode=True)
    found.step(X, LABELS)
    state = {name: value.astype(np.float64)[:, None] for name, value in found.state.items() if name in "smbv"}
    h = (X - state["m"]) / np.sqrt(state["v"] + 1e-5) * state["s"] + state["b"]
    np.testing.assert_allclose(
        as_float(found.outputs(X)["y"]), h.reshape(64, 12) @ as_float(found.state["w"]), rtol=1e-3, atol=1e-4
    )


@whole
def test_equal_seeds_give_equal_bits_on_any_number_of_threads(tmp_path: Path):
    path = model_file(tmp_path)
    runs = {
        (seed, threads): [
            each.step(X, LABELS)
            for each in [trainer(path, training_mode=True, seed=seed, threads=threads)]
            for _ in range(3)
        ]
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    }
    assert runs[1, 1] == runs[1, 3] != runs[2, 1]
    other = trainer(path, training_mode=False)
    assert list(other.state) == ["s", "b", "w", "lr"]


def test_nodes_train_that_the_file_marks(tmp_path: Path):
    plain = trainer(model_file(tmp_path))
    assert list(plain.state) == ["s", "b", "w", "lr"]
    norm = NORM.replace("0.8", "0.8, training_mode = 1")
    marked = trainer(model_file(tmp_path, norm=norm, marked=True))
    assert list(marked.state) == ["s", "b", "w", "lr", "m", "v", "draws"]
    everything = trainer(model_file(tmp_path), training_mode=True)
    assert [marked.step(X, LABELS) for _ in range(2)] == [everything.step(X, LABELS) for _ in range(2)]
    np.testing.assert_array_equal(marked.outputs(X)["y"], everything.outputs(X)["y"])
    fixed = trainer(model_file(tmp_path, norm=norm, marked=True), training_mode=False)
    assert list(fixed.state) == ["s", "b", "w", "lr"]


DRAWN = """
func.func @main() -> (tensor<8000xui64>, tensor<8000xui64>) {
  %key = graph.constant dense<[3, 0]> : tensor<2xi64>
  %a = graph.random_bits %key count <[8000]> : tensor<2xi64> -> tensor<8000xui64>
  %b = graph.random_bits %key count <[8000]> : tensor<2xi64> -> tensor<8000xui64>
  func.return %a, %b : tensor<8000xui64>, tensor<8000xui64>
}
"""


def test_draws_of_calls_and_ops_differ(tmp_path: Path):
    ctx = StepwellContext()
    module = parse_module(ctx, DRAWN)
    run_pipeline(module, "count-draws", ctx)
    (tmp_path / "m.mlir").write_text(str(module))
    session = stepwell.compile(tmp_path / "m.mlir", threads=1).session()
    drawn: list[Any] = []
    for call in range(3):
        found = session()
        assert isinstance(found, tuple)
        *expected, count = interpret(module, ctx, "main", [np.array(call)])
        np.testing.assert_array_equal(found, expected)
        assert count == call + 1
        drawn += found
    for number, first in enumerate(drawn):
        for second in drawn[number + 1 :]:
            assert not (first == second).any()


@pytest.mark.parametrize("opt_level", [pytest.param(0, marks=whole), 3])
def test_each_step_has_masks_of_its_own(tmp_path: Path, opt_level: int):
    found = trainer(model_file(tmp_path), training_mode=True, lr=0.0, opt_level=opt_level)
    seen = [found.gradients(X, LABELS)["w"] for _ in range(2)]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert len({found.step(X, LABELS) for _ in range(4)}) == 4
