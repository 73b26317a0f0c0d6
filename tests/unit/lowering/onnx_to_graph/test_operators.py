"""Operators of other domains, from an ONNX file to a fused kernel, by what a plugin registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

import stepwell as sw
from stepwell.lowering.backends import Backend, Constants, fill
from stepwell.plugin import (
    DenseArrayBase,
    FloatAttr,
    FuncOp,
    Op,
    Operation,
    PatternRewriter,
    Pure,
    RewritePattern,
    SSAValue,
    TensorType,
    constant,
    dims_of,
    f32,
    f64,
    graph,
    op_type_rewrite_pattern,
    operand_def,
    prop_def,
    result_def,
    tensor_type,
    traits_def,
    value_of,
)
from stepwell.plugin import onnx as onnx_dialect
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.plugins import DECORATED
from stepwell.tools import cli
from tests.commands import Capture
from tests.onnx_models import onnx_model

Array = npt.NDArray[Any]
ACME = ', "test.acme" : 1'


def made(*shape: int, seed: int = 0) -> Array:
    """Normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def compiled(body: str, *, opset: int = 1) -> CompiledModel:
    """A compiled model of the text of its graph, with the domain test.acme."""
    return sw.compile(onnx_model(body, header=f', "test.acme" : {opset}'))


def close(found: object, expected: Array) -> None:
    """Require a result to be what is expected, but for rounding."""
    np.testing.assert_allclose(np.asarray(found, expected.dtype), expected, rtol=1e-5, atol=1e-6)


@sw.onnx_op("test.acme", "Cube")
def cube(rewriter: PatternRewriter, x: SSAValue, *, scale: float = 1.0) -> SSAValue:
    """The third power, times a number."""
    square = graph.MultiplyOp(x, x).result
    product = graph.MultiplyOp(square, x).result
    return graph.MultiplyOp(product, constant(rewriter, scale, like=x)).result


@sw.onnx_op("test.acme", "Cube", since=2)
def negative_cube(rewriter: PatternRewriter, x: SSAValue) -> graph.NegOp:
    """Another meaning from the second opset on."""
    return graph.NegOp(cube(rewriter, x))


@pytest.mark.parametrize("dim", ["N", "3"])
def test_an_operator_fuses_with_its_neighbours(dim: str) -> None:
    shape = f"float[{dim}, 4]"
    model = compiled(
        f"g ({shape} x) => ({shape} y) {{ p = Relu(x) q = test.acme.Cube<scale = 2.0>(p) y = Exp(q) }}"
    )
    assert model.image.summary["kernels"] == 1
    for size in (1, 3, 17) if dim == "N" else (3,):
        x = made(size, 4, seed=size)
        close(model(x), np.exp(2 * np.maximum(x, 0) ** 3))


def test_an_operator_joins_the_kernel_of_a_product() -> None:
    body = "g (float[N, 8] x, float[8, 16] w) => (float[N, 16] y) { p = MatMul(x, w) y = test.acme.Cube(p) }"
    model = compiled(body)
    assert model.image.summary["kernels"] == 1
    x, w = made(5, 8), made(8, 16, seed=1)
    close(model(x, w), (x @ w) ** 3)


def test_the_opset_of_the_model_chooses_the_meaning() -> None:
    body = "g (float[4] x) => (float[4] y) { y = test.acme.Cube(x) }"
    x = made(4)
    for opset, sign in ((1, 1), (2, -1), (7, -1)):
        close(compiled(body, opset=opset)(x), sign * x**3)


@sw.onnx_op("test.acme", "Later", since=4)
def later(rewriter: PatternRewriter, x: SSAValue) -> graph.NegOp:
    """An operator that opsets before the fourth do not have."""
    return graph.NegOp(x)


def test_an_operator_of_a_later_opset() -> None:
    body = "g (float[4] x) => (float[4] y) { y = test.acme.Later(x) }"
    with pytest.raises(StepwellError, match="test.acme.Later does not exist in opset 3") as caught:
        compiled(body, opset=3)
    assert caught.value.code == "unknown-opset" and "from opset 4 on" in str(caught.value)
    close(compiled(body, opset=4)(made(4)), -made(4))


@sw.onnx_op("test.acme", "Mix")
def mix(
    rewriter: PatternRewriter,
    x: SSAValue,
    bias: SSAValue | None = None,
    *rest: SSAValue,
    weights: Sequence[float] = (1.0,),
    mode: str = "sum",
    table: Array | None = None,
    steps: list[int],
) -> tuple[SSAValue, SSAValue | None]:
    """An attribute of each kind, optional inputs, any number of them; the second output only for a bias."""
    assert isinstance(weights, list | tuple) and all(isinstance(each, float) for each in weights)
    total = x if bias is None else graph.AddOp(x, bias).result
    for each, weight in zip(rest, weights, strict=True):
        total = graph.AddOp(total, graph.MultiplyOp(each, constant(rewriter, weight, like=x)).result).result
    if table is not None:
        total = graph.AddOp(total, constant(rewriter, table)).result
    if mode == "negative":
        total = graph.NegOp(total).result
    shifted = graph.AddOp(total, constant(rewriter, sum(steps), like=x)).result
    return shifted, None if bias is None else graph.SubtractOp(total, bias).result


def mixed(node: onnx.NodeProto, names: str, outputs: str = "y") -> CompiledModel:
    """A compiled model of one `Mix`, on inputs of 4 x 5."""
    shape = [4, 5]
    return sw.compile(
        helper.make_model(
            helper.make_graph(
                [node],
                "mix",
                [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in names],
                [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in outputs],
            ),
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("test.acme", 1)],
            ir_version=8,
        )
    )


def test_attributes_of_all_kinds_and_optional_inputs() -> None:
    x, a, b = (made(4, 5, seed=seed) for seed in range(3))
    table = made(4, 5, seed=9)  # too large for the text: a weight
    node = helper.make_node(
        "Mix",
        ["x", "", "a", "b"],
        ["y"],
        domain="test.acme",
        weights=[2.0, 0.5],
        mode="negative",
        table=numpy_helper.from_array(table),
        steps=[1, 2],
    )
    close(mixed(node, "xab")(x, a, b), -(x + 2 * a + 0.5 * b + table) + 3)
    node = helper.make_node("Mix", ["x"], ["y"], domain="test.acme", steps=[4])
    node.attribute.append(onnx.AttributeProto(name="weights", type=onnx.AttributeProto.FLOATS))
    close(mixed(node, "x")(x), x + 4)


def test_outputs_by_position() -> None:
    x, bias = made(4, 5), made(4, 5, seed=1)
    weights = onnx.AttributeProto(name="weights", type=onnx.AttributeProto.FLOATS)
    node = helper.make_node("Mix", ["x", "b"], ["", "z"], domain="test.acme", steps=[4])
    node.attribute.append(weights)
    close(mixed(node, "xb", "z")(x, bias), x)
    node = helper.make_node("Mix", ["x"], ["y", "z"], domain="test.acme", steps=[4])
    node.attribute.append(weights)
    with pytest.raises(StepwellError, match="the lowering gives no output 1, which the model uses"):
        mixed(node, "x", "yz")


@sw.onnx_op("test.acme", "Window", types=lambda x, *, size: tensor_type(f32, [dims_of(x.type)[0], size]))
def window(rewriter: PatternRewriter, x: SSAValue, *, size: int) -> graph.SliceOp:
    """The first columns, by declared types that keep the symbol of the rows."""
    return graph.SliceOp(x, [0, 0], [dims_of(x.type)[0], size], [1, 1])


def test_declared_types_keep_symbols() -> None:
    model = compiled("g (float[N, 9] x) => (float[N, 4] y) { w = test.acme.Window<size = 4>(x) y = Neg(w) }")
    for rows in (1, 6):
        close(model(made(rows, 9)), -made(rows, 9)[:, :4])


@sw.onnx_op("test.acme", "Poly")
@sw.op("test_acme.poly")
class PolyOp(Op):
    """A polynomial, whose coefficients ONNX has as 32-bit floats and the op as 64-bit ones."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    coefficients = prop_def(DenseArrayBase.constr(f64))
    shift = prop_def(FloatAttr.constr(f32), default_value=FloatAttr(0.0, f32))


@sw.lower(PolyOp, to="graph")
def lower_poly(op: PolyOp, rewriter: PatternRewriter) -> SSAValue:
    """Horner's method."""
    *lower, highest = op.coefficients.get_values()
    total = constant(rewriter, highest, like=op.x)
    for coefficient in reversed(lower):
        product = graph.MultiplyOp(op.x, total).result
        total = graph.AddOp(product, constant(rewriter, coefficient, like=op.x)).result
    return graph.AddOp(total, constant(rewriter, op.shift.value.data, like=op.x)).result


POLY = (
    "g (float[N] x) => (float[N] y) "
    "{ p = Abs(x) q = test.acme.Poly<coefficients = [1.0, 0.5, 0.25]>(p) y = Sqrt(q) }"
)


def expected_poly(x: Array) -> Array:
    """The numbers that `POLY` gives."""
    return np.sqrt(1 + 0.5 * np.abs(x) + 0.25 * x * x)


def test_an_op_of_a_dialect_of_its_own() -> None:
    model = compiled(POLY)
    assert model.image.summary["kernels"] == 1
    for size in (1, 100):
        close(model(made(size)), expected_poly(made(size)))


def test_every_level_is_a_program(tmp_path: Path, capsys: Capture) -> None:
    """Text of each level reads back and gives the same numbers."""
    file = tmp_path / "poly.onnx"
    file.write_bytes(onnx_model(POLY, header=ACME).SerializeToString())
    for level in ("onnx", "graph", "linalg", "vector", "loops"):
        text = tmp_path / f"{level}.mlir"
        assert cli.main(["compile", str(file), "--emit", level, "-o", str(text)]) == 0
        close(sw.compile(text)(made(7)), expected_poly(made(7)))
    assert (
        cli.main(["compile", str(file), "--emit", "graph", "--disable-pass", "convert-plugins-to-graph"]) == 0
    )
    shown = capsys.readouterr().out
    assert '"test_acme.poly"(%p) <{coefficients = array<f64: ' in shown
    (text := tmp_path / "dialect.mlir").write_text(shown)
    close(sw.compile(text)(made(7)), expected_poly(made(7)))


@sw.onnx_op("test.acme", "Turn")
@sw.op("test_acme.turn")
class TurnOp(Op):
    """An op that nothing but a backend computes: elements in the opposite order."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())


class TurningBackend(Backend):
    """A backend for one op of a plugin."""

    def supports(self, op: Operation) -> bool:
        return isinstance(op, TurnOp)

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        return b"turn"

    def load(self, code: bytes) -> Callable[[Sequence[Array], list[Array]], None]:
        return lambda inputs, outputs: fill(outputs, [inputs[0][::-1]])


def test_an_op_that_a_backend_computes() -> None:
    body = "g (float[N] x) => (float[N] y) { p = Neg(x) q = test.acme.Turn(p) y = Exp(q) }"
    with pytest.raises(StepwellError, match="nothing has lowered test_acme.turn"):
        compiled(body)
    sw.register_backend("turning")(TurningBackend)
    model = sw.compile(onnx_model(body, header=ACME), backends=["turning"])
    close(model(made(5)), np.exp(-made(5)[::-1]))


@sw.onnx_op("test.acme", "Choose")
class ChooseLowering(RewritePattern):
    """A pattern on the nodes themselves."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx_dialect.CallOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, graph.MaximumOp(op.inputs[0], op.inputs[1]))


def test_a_rewrite_pattern() -> None:
    body = "g (float[4] x, float[4] z) => (float[4] y) { y = test.acme.Choose(x, z) }"
    close(compiled(body)(made(4), made(4, seed=1)), np.maximum(made(4), made(4, seed=1)))


class Scaled:
    """An object that is called, as another front end may register it."""

    def __init__(self, factor: float):
        self.factor = factor

    def __call__(self, rewriter: PatternRewriter, *inputs: SSAValue, **attributes: object) -> SSAValue:
        factor = constant(rewriter, self.factor, like=inputs[0])
        return graph.MultiplyOp(inputs[0], factor).result


sw.onnx_op("test.acme", "Triple")(Scaled(3))


sw.onnx_op("test.acme", "Scaled")(partial(cube, scale=4.0))
sw.onnx_op("test.acme", "Tanh")(graph.TanhOp)
sw.onnx_op("test.acme", "Same")(lambda rewriter, x: x)


def test_functions_and_ops_that_are_there_already() -> None:
    """A partial function, an op of ours, the input itself."""
    x = made(4)
    close(compiled("g (float[4] x) => (float[4] y) { y = test.acme.Scaled(x) }")(x), 4 * x**3)
    body = (
        "g (float[4] x) => (float[4] y) { p = test.acme.Same(x) q = test.acme.Tanh(p) y = test.acme.Same(q) }"
    )
    close(compiled(body)(x), np.tanh(x))
    assert not [file for file in DECORATED if "functools" in file or "stepwell/dialects" in file]


def test_a_callable_object() -> None:
    close(compiled("g (float[4] x) => (float[4] y) { y = test.acme.Triple(x) }")(made(4)), 3 * made(4))


OPSETS = '["" : 18, "test.local" : 1, "test.acme" : 1]'
FUNCTION = (
    f"<ir_version: 8, opset_import: {OPSETS}> "
    "g (float[4] x) => (float[4] y) {{ y = test.local.{call}(x) }} "
    f'<domain: "test.local", opset_import: {OPSETS}> Twice (x) => (y) {{{{ y = Add(x, x) }}}} '
    f'<domain: "test.local", opset_import: {OPSETS}> '
    "Scaled <scale> (x) => (y) {{ y = test.acme.Cube<scale: float = @scale>(x) }}"
)


def test_a_plugin_wins_over_a_function_of_the_model() -> None:
    model = onnx.parser.parse_model(FUNCTION.format(call="Twice"))
    close(sw.compile(model)(made(4)), 2 * made(4))

    @sw.onnx_op("test.local", "Twice")
    def twice(rewriter: PatternRewriter, x: SSAValue) -> graph.NegOp:  # pyright: ignore[reportUnusedFunction]
        return graph.NegOp(x)

    close(sw.compile(model)(made(4)), -made(4))


def test_an_operator_in_a_function_of_the_model() -> None:
    model = onnx.parser.parse_model(FUNCTION.format(call="Scaled<scale = 3.0>"))
    close(sw.compile(model)(made(4)), 3 * made(4) ** 3)


def test_an_operator_in_a_branch() -> None:
    body = """g (float[4] x, bool c) => (float[4] y) {
      y = If (c) <then_branch = a () => (float[4] p) { p = test.acme.Cube(x) },
                  else_branch = b () => (float[4] q) { q = Neg(x) }> }"""
    model = compiled(body)
    close(model(made(4), np.array(True)), made(4) ** 3)
    close(model(made(4), np.array(False)), -made(4))


@sw.onnx_op("com.microsoft", "TestOnly")
@sw.onnx_op("", "TestOnly")
def negative(rewriter: PatternRewriter, x: SSAValue) -> graph.NegOp:
    """An operator of two domains, which ONNX and ONNX Runtime do not have."""
    return graph.NegOp(x)


def test_operators_that_known_domains_lack() -> None:
    body = "g (float[4] x) => (float[4] y) { p = TestOnly(x) q = Exp(p) y = com.microsoft.TestOnly(q) }"
    model = sw.compile(onnx_model(body, header=', "com.microsoft" : 1'))
    close(model(made(4)), -np.exp(-made(4)))


@sw.onnx_op("test.acme", "Project")
def project(rewriter: PatternRewriter, x: SSAValue, w: SSAValue) -> SSAValue:
    """A product by a constant matrix whose columns the lowering normalizes."""
    matrix = value_of(w)
    assert matrix is not None and value_of(x) is None
    return graph.MatmulOp(x, constant(rewriter, matrix / matrix.sum(axis=0), like=x)).result


def test_constants_that_a_lowering_reads_and_makes() -> None:
    body = "g (float[N, 6] x) => (float[N, 8] y) { y = test.acme.Project(x, w) }"
    model = onnx_model(body, header=ACME)
    w = np.abs(made(6, 8))
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    close(sw.compile(model)(made(3, 6)), made(3, 6) @ (w / w.sum(axis=0)))


def test_outside_of_a_pass_there_are_no_weights() -> None:
    one = graph.ConstantOp.of(np.ones(1), WeightStore())
    rewriter = PatternRewriter(InsertPoint.at_end(Block([one])))
    assert value_of(constant(rewriter, 3, like=one.result)) == 3
    with pytest.raises(StepwellError, match="no pass is running"):
        constant(rewriter, np.zeros((4, 5)))


def test_without_the_plugin_the_error_names_the_domain() -> None:
    body = "g (float[3] x) => (float[3] y) { y = test.other.Cube(x) }"
    with pytest.raises(StepwellError, match="no conversion for test.other.Cube") as caught:
        sw.compile(onnx_model(body, header=', "test.other" : 1'))
    assert caught.value.code == "unsupported-op"
    assert "operators of test.other: `--load PLUGIN.py`" in str(caught.value.help)
