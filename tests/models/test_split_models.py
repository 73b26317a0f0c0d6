"""Whole networks split between ONNX Runtime and us, against ONNX Runtime alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.ir import Operation

import stepwell
from benchmarks.zoo import F32_MODELS, model_path
from stepwell.dialects import graph
from stepwell.lowering.backends.onnxruntime import OnnxruntimeBackend
from stepwell.runtime.backends import register_backend
from stepwell.runtime.values.loading import load
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from stepwell.tools.measure.peers import onnxruntime_session
from tests.support.samples import whole

# What is left to us lies between: partitions with several arguments and results, from one to the other.
TAKEN = {
    "resnet18": (graph.ConvOp, graph.BiasAddOp, graph.PoolOp),
    "bert_mini_dyn": (graph.MatmulOp, graph.SoftmaxOp, graph.GatherOp, graph.TransposeOp, graph.ReshapeOp),
}


class SomeOps(OnnxruntimeBackend):
    """ONNX Runtime for some of the ops that it takes."""

    name = "some"
    taken: tuple[type[Operation], ...] = ()

    def supports(self, op: Operation) -> bool:
        """Only the chosen ones."""
        return isinstance(op, self.taken) and super().supports(op)


@pytest.fixture(autouse=True)
def plugged_in() -> None:
    """The backend of this file is there."""
    register_backend("some", SomeOps)


@whole
@pytest.mark.parametrize(
    ("name", "backend"),
    [
        pytest.param("resnet18", "some", marks=pytest.mark.slow),
        pytest.param("resnet18", "onnxruntime", marks=pytest.mark.slow),
        ("bert_mini_dyn", "some"),
        pytest.param("bert_mini_dyn", "reference", marks=pytest.mark.slow),
    ],
)
def test_a_split_model_computes_the_same(
    name: str, backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, path = F32_MODELS[name], model_path(name)
    if path is None:
        pytest.skip(f"{name}: STEPWELL_MODELS names no folder that has it")
    monkeypatch.setattr(SomeOps, "taken", TAKEN[name])
    compiled = stepwell.compile(path, backends=[backend], input_shapes=model.input_shapes())
    partitions, kernels = (int(str(compiled.image.summary[what])) for what in ("partitions", "kernels"))
    assert partitions >= (5 if backend == "some" else 1)
    assert kernels >= 1 or backend != "some"
    compiled.save(tmp_path / "m.stepwell")
    loaded = load(tmp_path / "m.stepwell")
    session = onnxruntime_session(path, 2, optimize=False)
    for shapes in ({}, *model.sizes):
        feeds = model.feeds(seed=1, shapes=shapes)
        found = loaded.run(feeds)
        expected = dict(zip(found, session.run(None, dict(feeds)), strict=True))
        for output, wanted in expected.items():
            assert relative_difference(found[output], wanted) <= allowed_of_model(wanted.dtype), output
