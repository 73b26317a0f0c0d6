"""`expand-onnx-functions`: functions of models against ONNX Runtime, of schemas against onnx's cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx as onnx_package
import pytest
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import ModelWarning, export_onnx
from stepwell.frontend.expand_onnx_functions import BY_BODY, ExpandOnnxFunctionsPass
from stepwell.runtime.errors import StepwellError, describe_location
from tests.conformance.cases import cases_of_file
from tests.onnx_models import imported, onnx_model, ops_named, run

SCALE = """
<domain: "local", opset_import: ["" : 18]>
Scale <factor: float = 2.0> (a) => (b) { f = Constant <value_float: float = @factor> () b = Mul(a, f) }
"""
TWICE = """
<domain: "local", opset_import: ["" : 18, "local" : 1]>
Twice (a) => (b) { s = local.Scale(a) b = local.Scale(s) }
"""


def local_model(body: str, *functions: str) -> ModelProto:
    """A model with functions of the domain `local`."""
    return onnx_model(
        f"g (float[N, 4] x) => (float[N, 4] y) {{ {body} }} {' '.join(functions)}", header=', "local" : 1'
    )


def expanded(model: ModelProto, *ops: str) -> tuple[ModuleOp, StepwellContext]:
    """A model with its functions inlined, verified."""
    module, ctx = imported(model)
    ExpandOnnxFunctionsPass(ops).apply(ctx, module)
    module.verify()
    assert not ops_named(module, "onnx.Function")
    return module, ctx


def test_functions_are_inlined() -> None:
    """Attributes, their defaults, and functions that call functions: same numbers as the calls."""
    model = local_model("h = local.Scale <factor = 3.0> (x) y = local.Twice(h)", SCALE, TWICE)
    module, ctx = expanded(model)
    assert not ops_named(module, "onnx.Call")
    x = np.random.default_rng(5).standard_normal((2, 4)).astype("f4")
    (ours,), (theirs,) = run(export_onnx(module, ctx), {"x": x}), run(model, {"x": x})
    assert np.array_equal(ours, theirs)
    assert np.array_equal(ours, x * 12)


def test_inlined_ops_are_at_the_place_of_the_call() -> None:
    """The location leads with the node of the model."""
    module, _ = expanded(local_model("y = local.Twice(x)", SCALE, TWICE))
    places = [describe_location(op) for op in ops_named(module, "onnx.Mul")]
    assert places == [f'<model>: node "Twice#0/Scale#{n}/Mul#1"' for n in (0, 1)]


def test_functions_have_opsets_of_their_own() -> None:
    """An op whose opset is not the model's keeps it: Softmax changed its meaning in 13."""
    function = '<domain: "local", opset_import: ["" : 11]> Old (a) => (b) { b = Softmax(a) }'
    module, ctx = expanded(local_model("c = local.Old(x) y = Softmax(c)", function))
    old, new = ops_named(module, "onnx.Softmax")
    assert isinstance(old, onnx.OnnxOp) and isinstance(new, onnx.OnnxOp)
    assert (onnx.opset_of(old), old.integer("axis")) == (11, 1)
    assert (onnx.opset_of(new), new.integer("axis")) == (18, -1)
    with pytest.raises(StepwellError, match="Softmax of opset 11 cannot be exported"):
        export_onnx(module, ctx)


def test_an_absent_argument_is_absent_inside() -> None:
    """At each use, at any position, and through a call."""
    clip = '<domain: "local", opset_import: ["" : 18]> Cut (a, lo, hi) => (b) { b = Clip(a, lo, hi) }'
    outer = '<domain: "local", opset_import: ["local" : 1]> Outer (a, m) => (b) { b = local.Cut(a, m, m) }'
    module, _ = expanded(
        local_model("c = ReduceMax <keepdims = 0> (x) d = local.Cut(x, , c) y = local.Outer(d)", clip, outer)
    )
    first, second = ops_named(module, "onnx.Clip")
    assert isinstance(first, onnx.ClipOp) and isinstance(second, onnx.ClipOp)
    assert first.min is None and first.max is first.operands[1]
    assert second.min is None and second.max is None


def test_a_needed_argument_may_not_be_absent() -> None:
    """The call is named."""
    function = '<domain: "local", opset_import: ["" : 18]> F (a, b) => (c) { c = Add(a, b) }'
    with pytest.raises(StepwellError, match="input `B` of Add is not optional") as error:
        expanded(local_model("y = local.F(x)", function))
    assert error.value.where == '<model>: node "F#0"'


def test_recursion_is_an_error() -> None:
    """Directly, or through another function."""
    first = '<domain: "local", opset_import: ["local" : 1]> F (a) => (b) { b = local.G(a) }'
    second = '<domain: "local", opset_import: ["local" : 1]> G (a) => (b) { b = local.F(a) }'
    with pytest.raises(StepwellError, match=r"local\.F -> local\.G -> local\.F") as error:
        expanded(local_model("y = local.F(x)", first, second))
    assert error.value.code == "cycle"


def test_doubling_functions_are_bounded() -> None:
    """Forty functions that each call the one below twice would be a million million ops."""
    functions = ['<domain: "local", opset_import: ["" : 18]> F0 (a) => (b) { b = Neg(a) }']
    for n in range(1, 40):
        body = f"c = local.F{n - 1}(a) b = local.F{n - 1}(c)"
        functions.append(f'<domain: "local", opset_import: ["local" : 1]> F{n} (a) => (b) {{ {body} }}')
    with pytest.raises(StepwellError, match="expand to 3848290697215 ops") as error:
        expanded(local_model("y = local.F39(x)", *functions))
    assert error.value.code == "too-large"


def test_overloads_are_told_apart() -> None:
    """A function is found by domain, name and overload."""
    first = '<domain: "local", overload: "a", opset_import: ["" : 18]> F (a) => (b) { b = Neg(a) }'
    second = '<domain: "local", overload: "b", opset_import: ["" : 18]> F (a) => (b) { b = Abs(a) }'
    module, _ = expanded(local_model("c = local.F:b(x) y = local.F:a(c)", first, second))
    assert [op.name for op in ops_named(module, "onnx.Neg", "onnx.Abs")] == ["onnx.Abs", "onnx.Neg"]


def test_a_function_with_the_name_of_an_operator_is_ignored() -> None:
    """As by ONNX's evaluators, and said."""
    function = '<domain: "", opset_import: ["" : 18]> Relu (a) => (b) { b = Neg(a) }'
    with pytest.warns(ModelWarning, match="function Relu has the name of an operator of ONNX"):
        module, _ = expanded(onnx_model(f"g (float[4] x) => (float[4] y) {{ y = Relu(x) }} {function}"))
    assert [op.name for op in ops_named(module, "onnx.Relu", "onnx.Neg")] == ["onnx.Relu"]


CASE_FILES = {"onnx.SoftmaxCrossEntropyLoss": "softmax_cross_entropy_loss"}
"""Files of onnx's cases whose name is not that of the operator in small letters."""


def cases_of(op_name: str) -> list[TestCase]:
    """onnx's node cases of an operator; only its file is run, all take seconds."""
    op_type = op_name.removeprefix("onnx.")
    all_cases = cases_of_file(CASE_FILES.get(op_name, op_type.lower()))
    chosen = [case for case in all_cases if case.model and case.model.graph.node[0].op_type == op_type]
    return list({case.name: case for case in chosen if not case.name.endswith("_expanded")}.values())


@pytest.mark.sample(3)
@pytest.mark.parametrize("op_name", BY_BODY)
def test_bodies_of_schemas_pass_the_cases(op_name: str) -> None:
    """Expanded at the types of each case, they give its outputs."""
    assert (chosen := cases_of(op_name))
    for case in chosen[:12]:
        assert case.model is not None and case.data_sets is not None
        module, ctx = expanded(case.model, op_name)
        assert not ops_named(module, op_name)
        exported = export_onnx(module, ctx)
        ((inputs, outputs),) = case.data_sets
        feeds = {info.name: array_of(value) for info, value in zip(exported.graph.input, inputs, strict=True)}
        results = ReferenceEvaluator(exported).run(None, feeds)
        for result, output in zip(results, outputs, strict=True):
            assert np.allclose(array_of(result), array_of(output), case.rtol, case.atol, equal_nan=True)


def array_of(value: object) -> npt.NDArray[Any]:
    """A case's input or output as an array."""
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def test_types_that_the_model_does_not_declare_are_inferred() -> None:
    """The body of RotaryEmbedding depends on the rank of its input, here that of an intermediate value."""
    body = (
        "g (float[1, 2, 3, 4] x, float[9, 2] c, float[9, 2] s, int64[1, 3] p) => (float[1, 2, 3, 4] y) "
        "{ a = Relu(x) y = RotaryEmbedding(a, c, s, p) }"
    )
    module, _ = expanded(onnx_model(body, 23), "onnx.RotaryEmbedding")
    assert len(ops_named(module, "onnx.Concat")) >= 1


def test_operators_without_body_are_refused() -> None:
    """Asked for by name."""
    with pytest.raises(StepwellError, match="Conv is not defined by a function"):
        expanded(onnx_model("g (float[1, 1, 8] x) => (float[A, B, C] y) { y = Conv(x, x) }"), "onnx.Conv")


def test_the_installed_onnx_is_the_generated_one() -> None:
    """Bodies come from the schemas at run time: as new as the table."""
    assert onnx_package.defs.onnx_opset_version() == onnx.LATEST[""]
