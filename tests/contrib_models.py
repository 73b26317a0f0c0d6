"""Models of one node of ONNX Runtime's own domain, run by it and by us."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import stepwell
from stepwell.runtime.meaning import Array
from stepwell.runtime.model import CompiledModel
from tests.support.components import needs
from tests.support.onnx_runtime import reference_session

onnxruntime: Any = needs("onnxruntime")

RNG = np.random.default_rng(29)


def floats(*shape: int) -> Array:
    """Numbers around 0."""
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def model_of(
    op_type: str,
    inputs: Sequence[Array | None],
    constants: Sequence[int] = (),
    outputs: str = "y",
    domain: str = "com.microsoft",
    **attributes: Any,
) -> onnx.ModelProto:
    """
    A model of one node; the inputs at the positions of `constants` are weights, the others arguments.

    `outputs` has a letter for each output, a blank where there is none.
    """
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [letter.strip() for letter in outputs]
    node = helper.make_node(op_type, names, results, domain=domain, **attributes)
    given = [(i, x) for i, x in enumerate(inputs) if x is not None]
    arguments = [
        helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for i, x in given
        if i not in constants
    ]
    weights = [numpy_helper.from_array(x, names[i]) for i, x in given if i in constants]
    ends = [onnx.ValueInfoProto(name=name) for name in results if name]
    made = helper.make_graph([node], "g", arguments, ends, weights)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9)


def expected_of(model: onnx.ModelProto, inputs: Sequence[Array | None]) -> dict[str, Array]:
    """The outputs of a model by ONNX Runtime."""
    named = {f"x{i}": x for i, x in enumerate(inputs)}
    feeds = {value.name: named[value.name] for value in model.graph.input}
    session = reference_session(model)
    names = [value.name for value in model.graph.output]
    return dict(zip(names, session.run(None, feeds), strict=True))


def agree(
    model: onnx.ModelProto,
    inputs: Sequence[Array | None],
    allowed: float = 2e-5,
    compiled: CompiledModel | None = None,
) -> None:
    """Run a model by both, and compare all outputs."""
    expected = expected_of(model, inputs)
    named = {f"x{i}": x for i, x in enumerate(inputs)}
    found = (compiled or stepwell.compile(model)).run({v.name: named[v.name] for v in model.graph.input})
    for name, value in expected.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape
        near = np.isclose(found[name].astype(np.float64), value.astype(np.float64), allowed, allowed)
        assert near.all(), f"{name}: {found[name][~near][:5]} for {value[~near][:5]}"
