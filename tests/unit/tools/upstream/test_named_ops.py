"""Named ops of linalg: their loops against MLIR's own, and programs of them against numpy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir.affine import AffineMap

from stepwell import mlir
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.linalg_builder.named import ELEMENTWISE, EQUATIONS, NamedOp, loops_of
from tests.support.upstream import run_passes

_LETTERS = re.compile(r"\(\w\+\w\)|\w")


def canonical(maps: list[AffineMap]) -> list[str]:
    """Maps as text, with loops numbered as they occur: in the result first."""
    found = re.findall(r"d\d+", " ".join(str(each).partition("->")[2] for each in (maps[-1], *maps)))
    number = {name: position for position, name in enumerate(dict.fromkeys(found))}
    return [re.sub(r"d(\d+)", lambda d: f"d{number[d[0]]}", str(each).partition("->")[2]) for each in maps]


def text_of(name: str, strides: list[int], dilations: list[int]) -> str:
    """A function of one named op, on tensors of open sizes."""
    operands, _, result = EQUATIONS[name].partition("->")
    types = [_type(each) for each in (*operands.split(","), result)]
    windows = EQUATIONS[name].count("(")
    has_windows = windows and not re.fullmatch(r"conv_[123]d", name)
    sizes = [f"dense<{given[:windows]}> : tensor<{windows}xi64>" for given in (strides, dilations)]
    about = f" {{strides = {sizes[0]}, dilations = {sizes[1]}}}" if has_windows else ""
    names = [f"%a{position}" for position in range(len(types))]
    arguments = ", ".join(map("{}: {}".format, names, types))
    ins = f"ins({', '.join(names[:-1])} : {', '.join(types[:-1])})"
    outs = f"outs({names[-1]} : {types[-1]})"
    return f"""
    func.func @f({arguments}) -> {types[-1]} {{
      %r = linalg.{name}{about} {ins} {outs} -> {types[-1]}
      func.return %r : {types[-1]}
    }}
    """


def _type(operand: str) -> str:
    return f"tensor<{''.join('?x' for _ in _LETTERS.findall(operand))}f32>"


NAMES = sorted(name for name in EQUATIONS if "quantized" not in name and "transpose" not in name)


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", NAMES)
def test_the_loops_of_a_named_op_are_those_of_mlir(name: str) -> None:
    """Pools of unsigned numbers have i32 elements."""
    strides, dilations = [2, 3, 5], [7, 1, 4]
    text = text_of(name, strides, dilations)
    if name.endswith("unsigned"):
        text = text.replace("f32", "i32")
    printed = run_passes(text, "builtin.module(func.func(linalg-generalize-named-ops))")
    (theirs,) = [op for op in mlir.from_upstream(printed).walk() if isinstance(op, GenericOp)]
    (ours,) = [
        op
        for op in mlir.from_upstream(run_passes(text, "builtin.module()")).run("generalize-named-ops").walk()
        if isinstance(op, GenericOp)
    ]
    assert canonical([m.data for m in ours.indexing_maps]) == canonical(
        [m.data for m in theirs.indexing_maps]
    )
    kinds = [sorted(str(kind.data) for kind in op.iterator_types) for op in (ours, theirs)]
    assert kinds[0] == kinds[1]


def test_loops_of_an_equation() -> None:
    loops = loops_of("n(h+k)c,kc->nhc", [2], [3])
    assert loops.kinds == "pppr"
    assert [str(each) for each in loops.maps] == [
        "(d0, d1, d2, d3) -> (d0, ((d1 * 2) + (d3 * 3)), d2)",
        "(d0, d1, d2, d3) -> (d3, d2)",
        "(d0, d1, d2, d3) -> (d0, d1, d2)",
    ]
    assert loops_of("m,m->", [], []).kinds == "r"


def test_ops_that_xdsl_has_are_its_own() -> None:
    """Each other named op has a class of ours."""
    context = StepwellContext()
    for name in (*EQUATIONS, *ELEMENTWISE, "contract"):
        known = next((op for op in Linalg.operations if op.name == f"linalg.{name}"), None)
        found = context.get_optional_op(f"linalg.{name}")
        assert found is known if known is not None else found is not None and issubclass(found, NamedOp)


NETWORK = """
"builtin.module"() ({
  "func.func"() <{sym_name = "net", function_type =
    (tensor<1x6x6x2xf32>, tensor<3x3x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x4xf32>}> ({
  ^bb0(%x: tensor<1x6x6x2xf32>, %w: tensor<3x3x2x4xf32>, %d: tensor<1x2x2x4xf32>):
    %zero = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %least = "arith.constant"() <{value = 0xFF800000 : f32}> : () -> f32
    %0 = "tensor.empty"() : () -> tensor<1x4x4x4xf32>
    %1 = "linalg.fill"(%zero, %0) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%a: f32, %b: f32):
      "linalg.yield"(%a) : (f32) -> ()
    }) : (f32, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    %2 = "linalg.conv_2d_nhwc_hwcf"(%x, %w, %1) <{dilations = dense<1> : tensor<2xi64>,
      operandSegmentSizes = array<i32: 2, 1>, strides = dense<1> : tensor<2xi64>}> ({
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = "arith.mulf"(%a, %b) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %n = "arith.addf"(%c, %m) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%n) : (f32) -> ()
    }) {linalg.memoized_indexing_maps = [affine_map<(d0) -> (d0)>]}
      : (tensor<1x6x6x2xf32>, tensor<3x3x2x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    %3 = "tensor.empty"() : () -> tensor<2x2xf32>
    %4 = "tensor.empty"() : () -> tensor<1x2x2x4xf32>
    %5 = "linalg.fill"(%least, %4) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%a: f32, %b: f32):
      "linalg.yield"(%a) : (f32) -> ()
    }) : (f32, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    %6 = "linalg.pooling_nhwc_max"(%2, %3, %5) <{dilations = dense<1> : tensor<2xi64>,
      operandSegmentSizes = array<i32: 2, 1>, strides = dense<2> : tensor<2xi64>}> ({
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = "arith.maximumf"(%c, %a) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%m) : (f32) -> ()
    }) : (tensor<1x4x4x4xf32>, tensor<2x2xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    %7 = "linalg.div"(%6, %d, %4) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = "arith.divf"(%a, %b) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%m) : (f32) -> ()
    }) : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    %8 = "tensor.empty"() : () -> tensor<1x4xf32>
    %9 = "linalg.fill"(%zero, %8) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%a: f32, %b: f32):
      "linalg.yield"(%a) : (f32) -> ()
    }) : (f32, tensor<1x4xf32>) -> tensor<1x4xf32>
    %10 = "linalg.reduce"(%7, %9) <{dimensions = array<i64: 1, 2>}> ({
    ^bb0(%a: f32, %b: f32):
      %m = "arith.addf"(%a, %b) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%m) : (f32) -> ()
    }) : (tensor<1x2x2x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    "func.return"(%10) : (tensor<1x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_a_network_of_named_ops_compiles() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=size).astype(np.float32) for size in ((1, 6, 6, 2), (3, 3, 2, 4)))
    d = rng.uniform(1, 2, size=(1, 2, 2, 4)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    convolved = np.einsum("nhwckl,klcf->nhwf", windows, w)
    pooled = convolved.reshape(1, 2, 2, 2, 2, 4).max((2, 4))
    model = mlir.from_upstream(NETWORK).run("generalize-named-ops,outline-kernels").compile()
    np.testing.assert_allclose(
        np.asarray(model(x, w, d), np.float32), (pooled / d).sum((1, 2)), rtol=1e-4, atol=1e-5
    )
