"""Derivatives of graph ops against central differences in f64, and what the pass makes of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import element_of, tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.graph.gradients.rules import ops_with_derivative
from stepwell.runtime.errors import StepwellError

Array: TypeAlias = npt.NDArray[Any]
Build = Callable[..., Operation]
STEP = 1e-5
RNG = np.random.default_rng(7)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers of f64 that keep away from 0, where functions have kinks."""
    values = RNG.uniform(low, high, shape)
    return np.where(np.abs(values) < 0.05, 0.3, values)


def positive(*shape: int) -> Array:
    return real(*shape, low=0.3, high=2.5)


def within_one(*shape: int) -> Array:
    return real(*shape, low=-0.9, high=0.9)


def function_of(build: Build, arrays: Sequence[Array]) -> FuncOp:
    """`@f` with arguments for arrays, whose body is the op that is built, and what it is built on."""
    block = Block(arg_types=[tensor_type(element_of(a.dtype), a.shape) for a in arrays])
    op = build(*block.args)
    pending: list[Operation] = [op]
    ops: list[Operation] = []
    while pending:  # operands before their users
        each = pending.pop()
        if each in ops:
            ops.remove(each)
        ops.insert(0, each)
        pending += [v.owner for v in each.operands if isinstance(v.owner, Operation)]
    block.add_ops([*ops, ReturnOp(*op.results)])
    return FuncOp("f", (block.arg_types, op.result_types), Region(block))


def with_vjp(function: FuncOp, wrt: Sequence[int]) -> ModuleOp:
    """A module in which `@main` calls the product of cotangents of `@f`."""
    type = function.function_type
    floats = [t for t in type.outputs if "f64" in str(t)]
    made = FunctionType.from_lists(
        [*type.inputs, *floats], [*type.outputs, *(type.inputs.data[number] for number in wrt)]
    )
    value = graph.VjpOp("f", wrt, made)
    block = Block(arg_types=made.inputs.data)
    call = graph.CallOp(value.result, list(block.args), made.outputs.data)
    block.add_ops([value, call, ReturnOp(*call.results)])
    return ModuleOp([function, FuncOp("main", made, Region(block))])


def check(build: Build, *arrays: Array, wrt: Sequence[int] | None = None) -> None:
    """Compare directional derivatives with central differences."""
    wrt = [i for i, a in enumerate(arrays) if a.dtype == np.float64] if wrt is None else wrt
    module, ctx = with_vjp(function_of(build, arrays), wrt), StepwellContext()
    verify_module(module)
    results = interpret(module, ctx, "f", list(arrays))
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    rng = np.random.default_rng(1)
    weights = [rng.standard_normal(r.shape) for r in results if r.dtype == np.float64]
    found = interpret(module, ctx, "main", [*arrays, *weights])
    for value, again in zip(results, found, strict=False):
        np.testing.assert_array_equal(value, again)
    gradients = found[len(results) :]

    def total(moved: Sequence[Array]) -> float:
        values = [r for r in interpret(module, ctx, "f", list(moved)) if r.dtype == np.float64]
        return sum(float(np.sum(w * np.asarray(v, np.float64))) for w, v in zip(weights, values, strict=True))

    for _ in range(4):
        along = [rng.standard_normal(arrays[i].shape) for i in wrt]
        shifted = [list(arrays), list(arrays)]
        for sign, moved in zip((1, -1), shifted, strict=True):
            for i, direction in zip(wrt, along, strict=True):
                moved[i] = arrays[i] + sign * STEP * direction
        wanted = (total(shifted[0]) - total(shifted[1])) / (2 * STEP)
        given = sum(
            float(np.sum(np.asarray(g, np.float64) * d)) for g, d in zip(gradients, along, strict=True)
        )
        assert given == pytest.approx(wanted, rel=1e-6, abs=1e-7)


def of(kind: Any, *args: Any, **keywords: Any) -> Build:
    """An op on all given operands, with more arguments."""
    return lambda *values: kind(*values, *args, **keywords)


INDICES = np.array([[2, 0, 2], [-1, 1, 0]])
UNARY = [
    *(graph.NegOp, graph.AbsOp, graph.ExpOp, graph.Expm1Op, graph.SinOp, graph.CosOp, graph.AtanOp),
    *(graph.SinhOp, graph.CoshOp, graph.TanhOp, graph.AsinhOp, graph.ErfOp, graph.ReluOp),
    *(graph.LeakyReluOp, graph.EluOp, graph.SigmoidOp, graph.SoftplusOp, graph.SiluOp, graph.GeluOp),
    *(graph.FloorOp, graph.CeilOp, graph.RoundOp, graph.TruncOp, graph.SignOp),
]
OF_POSITIVE = [graph.LogOp, graph.Log1pOp, graph.SqrtOp, graph.RsqrtOp]
WITHIN_ONE = [graph.AsinOp, graph.AcosOp, graph.AtanhOp, graph.TanOp]
AVERAGE = of(graph.PoolOp, "avg", [2, 2], strides=[2, 2], pads=[1, 0, 1, 0])
CASES: dict[str, tuple[Build, Sequence[Array]]] = {
    **{op.name: (of(op), [real(3, 4)]) for op in UNARY},
    **{op.name: (of(op), [positive(3, 4)]) for op in OF_POSITIVE},
    **{op.name: (of(op), [within_one(5)]) for op in WITHIN_ONE},
    "graph.acosh": (of(graph.AcoshOp), [1.1 + positive(4)]),
    "graph.gelu tanh": (of(graph.GeluOp, "tanh"), [real(3, 4)]),
    "graph.leaky_relu": (of(graph.LeakyReluOp, 0.2), [real(7)]),
    "graph.elu": (of(graph.EluOp, 0.5), [real(7)]),
    "graph.clip": (of(graph.ClipOp), [real(9), np.array(-0.7), np.array(0.9)]),
    "graph.clip hi": (lambda x, hi: graph.ClipOp(x, None, hi), [real(9), np.array(0.9)]),
    "graph.cast": (lambda x: graph.CastOp(x, element_of(np.dtype(np.float64))), [real(4)]),
    **{
        op.name: (of(op), [real(2, 3, 4), real(3, 1)])
        for op in (graph.AddOp, graph.SubtractOp, graph.MultiplyOp, graph.MaximumOp, graph.MinimumOp)
    },
    "graph.divide": (of(graph.DivideOp), [real(3, 1), positive(2, 3, 4)]),
    "graph.power": (of(graph.PowerOp), [positive(3, 4), real(4)]),
    "graph.power of an integer": (of(graph.PowerOp), [real(5), np.array([0, 1, 2, 3, 2])]),
    "graph.where": (of(graph.WhereOp), [RNG.uniform(size=(3, 4)) > 0.5, real(4), real(3, 1)]),
    **{
        f"graph.reduce {kind} {keep}": (of(graph.ReduceOp, kind, [0, 2], keep_dims=keep), [positive(2, 3, 4)])
        for kind in ("sum", "mean", "sum_square", "l1", "l2", "log_sum_exp", "max", "min")
        for keep in (False, True)
    },
    "graph.softmax": (of(graph.SoftmaxOp, 1), [real(2, 3, 4)]),
    "graph.log_softmax": (of(graph.LogSoftmaxOp, 2), [real(2, 3, 4)]),
    "graph.transpose": (of(graph.TransposeOp, [2, 0, 1]), [real(2, 3, 4)]),
    "graph.reshape": (of(graph.ReshapeOp, [4, 6]), [real(2, 3, 4)]),
    "graph.expand_dims": (of(graph.ExpandDimsOp, [0, 2]), [real(2, 3)]),
    "graph.squeeze": (of(graph.SqueezeOp, [0, 2]), [real(1, 3, 1, 2)]),
    "graph.broadcast_to": (of(graph.BroadcastToOp, [2, 3, 4]), [real(3, 1)]),
    "graph.full": (of(graph.FullOp, [2, 3]), [real()]),
    "graph.reverse": (of(graph.ReverseOp, [0]), [real(3, 2)]),
    "graph.concat": (lambda *v: graph.ConcatOp(v, 1), [real(2, 3), real(2, 1), real(2, 2)]),
    "graph.split": (of(graph.SplitOp, 1, [2, 1, 3]), [real(2, 6)]),
    "graph.slice": (of(graph.SliceOp, [1, 0], [3, 2], [1, 1]), [real(4, 3)]),
    "graph.insert_slice": (of(graph.InsertSliceOp, [1, 0]), [real(4, 3), real(2, 2)]),
    "graph.pad": (of(graph.PadOp, [1, 0, 2, 3]), [real(2, 3)]),
    "graph.tile": (of(graph.TileOp, [2, 3]), [real(3, 2)]),
    "graph.gather": (of(graph.GatherOp, 0), [real(3, 4), INDICES]),
    "graph.gather in the middle": (of(graph.GatherOp, 1), [real(2, 3, 4), INDICES]),
    "graph.gather of one": (of(graph.GatherOp, 1), [real(2, 3), np.array(1)]),
    "graph.gather_elements": (of(graph.GatherElementsOp, 1), [real(2, 3), INDICES]),
    "graph.bias_add": (of(graph.BiasAddOp, 1), [real(2, 3, 4), real(3)]),
    **{
        f"graph.matmul {ta} {tb}": (
            of(graph.MatmulOp, transpose_a=ta, transpose_b=tb),
            [real(*((4, 3) if ta else (3, 4))), real(*((5, 4) if tb else (4, 5)))],
        )
        for ta in (False, True)
        for tb in (False, True)
    },
    "graph.matmul rows": (of(graph.MatmulOp), [real(2, 6, 3, 4), real(4, 5)]),
    "graph.matmul rows transposed": (of(graph.MatmulOp, transpose_b=True), [real(2, 3, 4), real(5, 4)]),
    "graph.matmul batches": (of(graph.MatmulOp), [real(2, 1, 3, 4), real(6, 4, 5)]),
    "graph.matmul vector": (of(graph.MatmulOp), [real(4), real(2, 4, 5)]),
    "graph.matmul by vector": (of(graph.MatmulOp), [real(2, 3, 4), real(4)]),
    "graph.matmul of vectors": (of(graph.MatmulOp), [real(4), real(4)]),
    "graph.conv": (of(graph.ConvOp), [real(2, 3, 5, 6), real(4, 3, 3, 2)]),
    "graph.conv strided": (
        of(graph.ConvOp, strides=[2, 3], dilations=[1, 2], pads=[1, 0, 2, 1]),
        [real(2, 3, 8, 9), real(4, 3, 3, 2)],
    ),
    "graph.conv by groups": (of(graph.ConvOp, groups=2, pads=[1, 1]), [real(2, 4, 7), real(6, 2, 3)]),
    "graph.conv of channels": (
        of(graph.ConvOp, groups=3, strides=[2, 2], pads=[1, 1, 1, 1]),
        [real(2, 3, 6, 7), real(3, 1, 3, 3)],
    ),
    "graph.pool": (
        of(graph.PoolOp, "max", [3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
        [real(2, 3, 7, 6)],
    ),
    "graph.pool avg": (AVERAGE, [real(2, 3, 6, 4)]),
    "graph.pool avg with pads": (
        of(graph.PoolOp, "avg", [3], strides=[2], pads=[1, 1], count_include_pad=True),
        [real(2, 3, 8)],
    ),
    "graph.layer_norm": (
        lambda x, s, b: graph.LayerNormOp(x, s, b, axis=1, eps=1e-3, compute_type=f64),
        [real(3, 6), positive(6), real(6)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives_agree_with_central_differences(name: str):
    build, arrays = CASES[name]
    wrt = [0] if name.startswith("graph.clip") else None
    check(build, *map(np.asarray, arrays), wrt=wrt)


def test_each_rule_has_a_case():
    missing = {op.name for op in ops_with_derivative()} - {name.partition(" ")[0] for name in CASES}
    assert not missing


def module_of(text: str) -> ModuleOp:
    return parse_module(StepwellContext(), text)


SCALARS = "(tensor<f64>, tensor<f64>) -> tensor<f64>"
CUBE = f"%s = graph.multiply %x, %x : {SCALARS}\n%y = graph.multiply %s, %x : {SCALARS}"


def gradient_of(body: str, *arguments: float, names: str = "x", count: int = 1) -> float:
    """
    The gradient of a function of text by its first argument; `count` 2 is that of the gradient, and so on.

    Args: `body` computes `%y`, a scalar of f64, from scalars with names of one letter.
    """
    declared = ", ".join(f"%{name}: tensor<f64>" for name in names)
    given = ", ".join(f"%{name}" for name in names)
    parts = [f"func.func @f0({declared}) -> tensor<f64> {{\n{body}\nfunc.return %y : tensor<f64>\n}}"]
    type = f"({', '.join(['tensor<f64>'] * len(names))}) -> (tensor<f64>, tensor<f64>)"
    for number in range(count):
        lines = [
            f"func.func @f{number + 1}({declared}) -> tensor<f64> {{",
            f"%g = graph.gradient @f{number} wrt [0] : {type}",
            f"%v, %d = graph.call %g({given}) : {type}",
            "func.return %d : tensor<f64>\n}",
        ]
        parts.append("\n".join(lines))
    module, ctx = module_of("\n".join(parts)), StepwellContext()
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    (found,) = interpret(module, ctx, f"f{count}", [np.asarray(a, np.float64) for a in arguments])
    return float(found)


@pytest.mark.parametrize(("count", "wanted"), [(1, 12.0), (2, 12.0), (3, 6.0), (4, 0.0)])
def test_gradients_of_gradients(count: int, wanted: float):
    assert gradient_of(CUBE, 2.0, count=count) == wanted


@pytest.mark.parametrize(
    ("body", "at", "wanted"),
    [
        (f"%y = graph.multiply %x, %x : {SCALARS}", 3.0, 6.0),
        (f"%y = graph.add %x, %x : {SCALARS}", 3.0, 2.0),
        (f"%y = graph.maximum %x, %x : {SCALARS}", 3.0, 1.0),
        ("%y = graph.relu %x : tensor<f64> -> tensor<f64>", 0.0, 0.0),
        ("%y = graph.abs %x : tensor<f64> -> tensor<f64>", 0.0, 0.0),
        ("%y = graph.sqrt %x : tensor<f64> -> tensor<f64>", 0.0, np.inf),
        (f"%n = graph.constant dense<0.0> : tensor<f64>\n%y = graph.power %x, %n : {SCALARS}", 0.0, 0.0),
        ('%y = graph.reduce %x kind "l2" axes [] keep_dims false : tensor<f64> -> tensor<f64>', 0.0, 0.0),
    ],
)
def test_conventions_at_kinks(body: str, at: float, wanted: float):
    assert gradient_of(body, at) == wanted


def test_the_bounds_of_a_clip_count_as_inside():
    bound = "%l = graph.constant dense<1.0> : tensor<f64>\n"
    lo = "%y = graph.clip %x lo %l : tensor<f64> : tensor<f64> -> tensor<f64>"
    hi = "%y = graph.clip %x hi %l : tensor<f64> : tensor<f64> -> tensor<f64>"
    assert [gradient_of(bound + text, 1.0) for text in (lo, hi)] == [1.0, 1.0]
    assert [gradient_of(bound + text, 0.5) for text in (lo, hi)] == [0.0, 1.0]


def test_a_power_of_zero_has_no_slope_by_its_exponent():
    assert gradient_of(f"%y = graph.power %z, %x : {SCALARS}", 2.0, 0.0, names="xz") == 0.0


def test_open_sizes_are_summed_over():
    rows = 'tensor<?x3xf64, #graph.dims<["N", 3]>>'
    text = f"""
    func.func @f(%x: {rows}, %b: tensor<3xf64>) -> tensor<f64> {{
      %s = graph.add %x, %b : ({rows}, tensor<3xf64>) -> {rows}
      %y = graph.reduce %s kind "mean" axes [0, 1] keep_dims false : {rows} -> tensor<f64>
      func.return %y : tensor<f64>
    }}
    func.func @main(%x: {rows}, %b: tensor<3xf64>) -> tensor<3xf64> {{
      %g = graph.gradient @f wrt [1] : ({rows}, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
      %y, %d = graph.call %g(%x, %b) : ({rows}, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
      func.return %d : tensor<3xf64>
    }}"""
    module, ctx = module_of(text), StepwellContext()
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    (found,) = interpret(module, ctx, "main", [np.ones((5, 3)), np.ones(3)])
    np.testing.assert_allclose(np.asarray(found, np.float64), np.full(3, 1 / 3), rtol=1e-15)


def failing(body: str, wrt: int = 0) -> StepwellError:
    """The error of the gradient of a function that computes `%y` from floats `%x` and integers `%i`."""
    given, floats = "(tensor<4xf32>, tensor<4xi64>)", "tensor<4xf32>"
    text = f"""
    func.func @f(%x: {floats}, %i: tensor<4xi64>) -> {floats} {{
      {body}
      func.return %y : {floats}
    }}
    func.func @main(%x: {floats}, %i: tensor<4xi64>) -> {floats} {{
      %g = graph.gradient @f wrt [{wrt}] : {given} -> ({floats}, {floats})
      %y, %d = graph.call %g(%x, %i) : {given} -> ({floats}, {floats})
      func.return %y : {floats}
    }}"""
    with pytest.raises(StepwellError) as caught:
        run_pipeline(module_of(text), "gradient", StepwellContext())
    return caught.value


def test_all_ops_without_a_derivative_are_named():
    pair = "(tensor<4xf32>, tensor<4xf32>)"
    error = failing(
        f'%a = graph.remainder %x, %x rounding "trunc" : {pair} -> tensor<4xf32>\n'
        "%b = graph.floor %x : tensor<4xf32> -> tensor<4xf32>\n"
        f'%c = graph.remainder %b, %b rounding "trunc" : {pair} -> tensor<4xf32>\n'
        "%y, %j = graph.top_k %a k <[4]> axis 0 largest true"
        " : tensor<4xf32> -> (tensor<4xf32>, tensor<4xi64>)"
    )
    assert error.code == "no-derivative"
    assert error.message == "no derivative is known of graph.remainder, graph.top_k"
    assert len(error.notes) == 3  # with the pass


def test_arguments_without_a_derivative():
    body = "%y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>"
    assert failing(body, wrt=1).code == "not-differentiable"
    assert failing(body, wrt=2).code == "not-differentiable"


def test_a_recursive_function_has_no_derivative_yet():
    error = failing("%y = graph.call @f(%x, %i) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>")
    assert error.code == "no-derivative" and "graph.call" in error.message
