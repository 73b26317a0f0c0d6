"""`convert-graph-to-onnx`: the exported model of each op computes what the op means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, Signedness, f16, f32, f64, i8, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import matched_op_types
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.types import DimLike, element_of, tensor_type
from stepwell.lowering.graph_to_onnx import GRAPH_TO_ONNX
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array
from tests.support.exported_ops import Build, booleans, check, exported, integers, normal, positive, small

X = normal(2, 3, 4)
U8 = IntegerType(8, Signedness.UNSIGNED)
NO_KEYS = np.zeros((2, 3, 5), np.float32)
NO_KEYS[0, 1], NO_KEYS[1, :, 2:] = -np.inf, -np.inf
"""A mask that leaves one query no key."""
IMAGE = normal(2, 4, 9, 8)
ODD = np.array([0.0, -1.5, 2.5, 0.5, -0.5, 1e30, -np.inf, np.inf], np.float32)

UNARY: dict[type[GraphOp], Array] = {
    **{
        op: X
        for op in (
            graph.NegOp,
            graph.AbsOp,
            graph.SignOp,
            graph.ExpOp,
            graph.SinOp,
            graph.CosOp,
            graph.AtanOp,
            graph.SinhOp,
            graph.CoshOp,
            graph.TanhOp,
            graph.AsinhOp,
            graph.ErfOp,
            graph.SigmoidOp,
            graph.ReluOp,
            graph.SoftplusOp,
            graph.SiluOp,
        )
    },
    **{op: small(3, 5) for op in (graph.AsinOp, graph.AcosOp, graph.AtanhOp, graph.TanOp)},
    **{op: ODD for op in (graph.FloorOp, graph.CeilOp, graph.RoundOp, graph.TruncOp)},
    **{op: positive(7) for op in (graph.LogOp, graph.SqrtOp, graph.RsqrtOp)},
    graph.AcoshOp: np.array([1.5, 2.0, 9.0], np.float32),
    graph.IsNanOp: np.array([1, np.nan, np.inf], np.float32),
}


@pytest.mark.parametrize("op_class", UNARY, ids=lambda op: op.name)
def test_ops_of_one_operand(op_class: Build) -> None:
    check(op_class, UNARY[op_class])  # pyright: ignore[reportArgumentType]


BINARY = [
    graph.AddOp,
    graph.SubtractOp,
    graph.MultiplyOp,
    graph.DivideOp,
    graph.MaximumOp,
    graph.MinimumOp,
    graph.EqualOp,
    graph.NotEqualOp,
    graph.LessOp,
    graph.LessEqualOp,
]


@pytest.mark.parametrize("op_class", BINARY, ids=lambda op: op.name)
def test_ops_of_two_operands_broadcast(op_class: Build) -> None:
    check(op_class, X, normal(3, 1))
    check(op_class, integers(-3, 3, 2, 5), integers(1, 3, 5))


@pytest.mark.parametrize("op_class", [graph.AndOp, graph.OrOp, graph.XorOp], ids=lambda op: op.name)
def test_logic_is_of_truth_values_or_bits(op_class: Build) -> None:
    check(op_class, booleans(4, 5), booleans(5))
    check(op_class, integers(-9, 9, 4, 5), integers(-9, 9, 5))


def test_complements() -> None:
    check(graph.NotOp, booleans(6))
    check(graph.NotOp, integers(-9, 9, 6, dtype=np.int32))


ELEMENTWISE: dict[str, tuple[Build, list[Array]]] = {
    "power": (graph.PowerOp, [positive(3, 4), normal(4)]),
    "power of another type": (graph.PowerOp, [positive(3, 4), integers(0, 3, 4)]),
    "remainder": (lambda a, b: graph.RemainderOp(a, b, "trunc"), [normal(9), positive(9)]),
    "remainder of integers": (
        lambda a, b: graph.RemainderOp(a, b, "floor"),
        [integers(-9, 9, 20), integers(1, 4, 20)],
    ),
    "remainder to zero": (
        lambda a, b: graph.RemainderOp(a, b, "trunc"),
        [integers(-9, 9, 20), integers(1, 4, 20)],
    ),
    "shift_left": (
        graph.ShiftLeftOp,
        [integers(0, 9, 5, dtype=np.uint32), integers(0, 4, 5, dtype=np.uint32)],
    ),
    "shift_right": (
        graph.ShiftRightOp,
        [integers(0, 99, 5, dtype=np.uint64), integers(0, 4, 5, dtype=np.uint64)],
    ),
    "where": (graph.WhereOp, [booleans(3, 1), normal(3, 4), normal(4)]),
    "is_inf": (lambda x: graph.IsInfOp(x, positive=False, negative=True), [ODD]),
    "cast": (lambda x: graph.CastOp(x, i32), [ODD[:5]]),
    "cast to bits": (lambda x: graph.CastOp(x, IntegerType(1)), [ODD]),
    "cast to half": (lambda x: graph.CastOp(x, f16), [X]),
    "cast to double": (lambda x: graph.CastOp(x, f64), [X]),
    "bias_add": (lambda x, b: graph.BiasAddOp(x, b, 1), [X, normal(3)]),
    "bias_add of rows": (lambda x, b: graph.BiasAddOp(x, b, 2), [X, normal(4)]),
    "leaky_relu": (lambda x: graph.LeakyReluOp(x, 0.25), [X]),
    "elu": (lambda x: graph.EluOp(x, 1.5), [X]),
    "silu": (lambda x: graph.SiluOp(x, 1.7), [X]),
    "gelu": (lambda x: graph.GeluOp(x, "none"), [X]),
    "gelu tanh": (lambda x: graph.GeluOp(x, "tanh"), [X]),
    "clip": (graph.ClipOp, [X, np.array(-0.5, np.float32), np.array(0.25, np.float32)]),
    "clip above": (lambda x, hi: graph.ClipOp(x, None, hi), [X, np.array(0.25, np.float32)]),
}

CONTRACTIONS: dict[str, tuple[Build, list[Array]]] = {
    "matmul": (graph.MatmulOp, [normal(2, 3, 4), normal(4, 5)]),
    "matmul of vectors": (graph.MatmulOp, [normal(4), normal(3, 4, 5)]),
    "matmul transposed": (
        lambda a, b: graph.MatmulOp(a, b, transpose_a=True, transpose_b=True),
        [normal(2, 4, 3), normal(5, 4)],
    ),
    "matmul to float": (
        lambda a, b: graph.MatmulOp(a, b, out_type=f32),
        [normal(2, 4, dtype=np.float16), normal(4, 5, dtype=np.float16)],
    ),
    "matmul_integer": (
        graph.MatmulIntegerOp,
        [
            integers(0, 255, 3, 8, dtype=np.uint8),
            integers(-64, 63, 8, 4, dtype=np.int8),  # ONNX Runtime is exact for these without VNNI too
            np.array(7, np.uint8),
            integers(-9, 9, 4, dtype=np.int8),
        ],
    ),
    "conv": (
        lambda x, w: graph.ConvOp(x, w, strides=[2, 1], dilations=[1, 2], pads=[1, 2, 0, 1], groups=2),
        [IMAGE, normal(6, 2, 3, 3)],
    ),
    "conv in one dimension": (graph.ConvOp, [normal(1, 2, 9), normal(3, 2, 4)]),
    "conv_transpose": (
        lambda x, w: graph.ConvTransposeOp(
            x, w, strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 2], groups=2
        ),
        [IMAGE, normal(4, 3, 3, 3)],
    ),
    "einsum": (lambda a, b: graph.EinsumOp([a, b], "bij,bkj->bik"), [normal(2, 3, 4), normal(2, 5, 4)]),
}

REDUCTIONS: dict[str, tuple[Build, list[Array]]] = {
    **{
        f"reduce {kind}": (lambda x, kind=kind: graph.ReduceOp(x, kind, [0, 2]), [X])
        for kind in ("sum", "prod", "max", "min", "mean", "sum_square", "l1", "l2", "log_sum_exp")
    },
    "reduce and": (lambda x: graph.ReduceOp(x, "and", [1], keep_dims=True), [booleans(9, 2)]),
    "reduce or": (lambda x: graph.ReduceOp(x, "or", [1]), [booleans(9, 2)]),
    "reduce nothing": (lambda x: graph.ReduceOp(x, "l2", []), [X]),
    "argmax": (lambda x: graph.ArgmaxOp(x, 1), [integers(0, 2, 4, 6).astype(np.float32)]),
    "argmin": (
        lambda x: graph.ArgminOp(x, 0, keep_dims=True, select_last=True),
        [integers(0, 2, 4, 6).astype(np.float32)],
    ),
    "scan": (lambda x: graph.ScanOp(x, "sum", 1, exclusive=True, reverse=True), [X]),
    "softmax": (lambda x: graph.SoftmaxOp(x, 1), [X]),
    "log_softmax": (lambda x: graph.LogSoftmaxOp(x, 2), [X]),
    "pool max": (
        lambda x: graph.PoolOp(
            x, "max", [3, 2], strides=[2, 2], pads=[1, 0, 1, 0], dilations=[2, 1], ceil=True
        ),
        [IMAGE],
    ),
    "pool with places": (lambda x: graph.PoolOp(x, "max", [2, 2], strides=[2, 2], indices="row"), [IMAGE]),
    "pool with columns": (lambda x: graph.PoolOp(x, "max", [2, 2], indices="column"), [IMAGE]),
    "pool avg": (lambda x: graph.PoolOp(x, "avg", [3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), [IMAGE]),
    "pool avg with pads": (
        lambda x: graph.PoolOp(x, "avg", [3, 3], pads=[1, 1, 1, 1], count_include_pad=True),
        [IMAGE],
    ),
    "pool lp": (lambda x: graph.PoolOp(x, "lp", [3, 3], p=3), [IMAGE]),
    "batch_norm": (graph.BatchNormOp, [IMAGE, normal(4), positive(4), normal(4), normal(4)]),
    "batch_norm bare": (graph.BatchNormOp, [IMAGE, normal(4), positive(4)]),
    "instance_norm": (graph.InstanceNormOp, [IMAGE, normal(4), normal(4)]),
    "group_norm": (lambda x, s: graph.GroupNormOp(x, s, groups=2), [IMAGE, normal(4)]),
    "layer_norm": (lambda x, s, b: graph.LayerNormOp(x, s, b, axis=1), [X, normal(3, 4), normal(3, 4)]),
    "layer_norm bare": (lambda x: graph.LayerNormOp(x, axis=2, statistics=True), [X]),
    "rms_norm": (lambda x, s: graph.RmsNormOp(x, s, axis=2), [X, normal(4)]),
    "lp_norm": (lambda x: graph.LpNormOp(x, 1, 2), [X]),
    "lp_norm of 1": (lambda x: graph.LpNormOp(x, 0, 1), [X]),
    "lrn": (lambda x: graph.LrnOp(x, 3, alpha=0.3, beta=0.6, bias=1.5), [IMAGE]),
    "attention of no keys": (
        lambda q, k, v, m: graph.AttentionOp(q, k, v, m, scale=0.5, zero_masked=True),
        [normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6), NO_KEYS],
    ),
    "attention": (
        lambda q, k, v, m: graph.AttentionOp(q, k, v, m, scale=0.5),
        [normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6), normal(5)],
    ),
}

MOVEMENT: dict[str, tuple[Build, list[Array]]] = {
    "reshape": (lambda x: graph.ReshapeOp(x, [4, 6]), [X]),
    "reshape by data": (graph.ReshapeOp, [X, np.array([6, 4])]),
    "reshape nothing": (lambda x: graph.ReshapeOp(x, [0, 7]), [normal(3, 0)]),
    "expand_dims": (lambda x: graph.ExpandDimsOp(x, [0, 3]), [X]),
    "squeeze": (lambda x: graph.SqueezeOp(x, [0, 2]), [normal(1, 3, 1, 2)]),
    "broadcast_to": (lambda x: graph.BroadcastToOp(x, [2, 3, 4]), [normal(3, 1)]),
    "full": (lambda v: graph.FullOp(v, [2, 3]), [np.array(2.5, np.float32)]),
    "shape_of": (lambda x: graph.ShapeOfOp(x, 1, 3), [X]),
    "iota": (lambda x: graph.IotaOp([3, 4], 1, f32), [X]),
    "range": (graph.RangeOp, [np.array(1), np.array(9), np.array(3)]),
    "one_hot": (lambda i: graph.OneHotOp(i, 5, 1), [integers(-2, 6, 3, 4)]),
    "one_hot behind": (lambda i: graph.OneHotOp(i, 5, 2), [integers(-2, 6, 3, 4, dtype=np.int32)]),
    "transpose": (lambda x: graph.TransposeOp(x, [1, 2, 0]), [X]),
    "concat": (lambda a, b: graph.ConcatOp([a, b, a], 1), [X, normal(2, 1, 4)]),
    "split": (lambda x: graph.SplitOp(x, 2, [1, 3]), [X]),
    "split by data": (lambda x, s: graph.SplitOp(x, 2, s), [X, np.array([3, 1])]),
    "slice": (lambda x: graph.SliceOp(x, [0, 2, 3], [2, -1, -1], [1, -1, -2]), [X]),
    "slice by data": (
        lambda x, a, b: graph.SliceOp(x, a, b, [1, -1, -2]),
        [X, np.array([1, 2, 3]), np.array([2, -1, 0])],
    ),
    "reverse": (lambda x: graph.ReverseOp(x, [0, 2]), [X]),
    "pad": (lambda x, v: graph.PadOp(x, [1, 0, 2, 0, -1, 1], "constant", v), [X, np.array(3, np.float32)]),
    "pad reflect": (lambda x: graph.PadOp(x, [1, 2, 3, 0, 0, 1], "reflect"), [X]),
    "pad edge": (lambda x: graph.PadOp(x, [0, 2, 0, 0, 0, 1], "edge"), [X]),
    "pad wrap": (lambda x: graph.PadOp(x, [0, 2, 0, 0, 0, 1], "wrap"), [X]),
    "tile": (lambda x: graph.TileOp(x, [1, 2, 3]), [X]),
    "reverse_sequence": (
        lambda x, n: graph.ReverseSequenceOp(x, n, batch_axis=1, time_axis=0),
        [normal(5, 3, 2), np.array([2, 5, 1])],
    ),
    "top_k": (lambda x: graph.TopKOp(x, 3, 1), [integers(0, 5, 4, 9).astype(np.float32)]),
    "top_k smallest": (lambda x: graph.TopKOp(x, 2, 0, largest=False), [normal(6, 3)]),
    "gather": (lambda x, i: graph.GatherOp(x, i, 1), [X, integers(-3, 2, 2, 5)]),
    "gather by bytes": (lambda x, i: graph.GatherOp(x, i, 0), [X, integers(0, 1, 5, dtype=np.int8)]),
    "gather_elements": (lambda x, i: graph.GatherElementsOp(x, i, 1), [X, integers(-3, 2, 2, 2, 4)]),
    "gather_nd": (lambda x, i: graph.GatherNdOp(x, i, 1), [X, integers(0, 2, 2, 5, 1, dtype=np.int32)]),
    "scatter_elements": (
        lambda x, i, u: graph.ScatterElementsOp(x, i, u, 1, "add"),
        [X, integers(-3, 2, 2, 2, 4), normal(2, 2, 4)],
    ),
    "scatter_nd": (
        lambda x, i, u: graph.ScatterNdOp(x, i, u, "max"),
        [X, integers(0, 1, 3, 1, dtype=np.int32), normal(3, 3, 4)],
    ),
    "resize": (lambda x: graph.ResizeOp(x, [2, 4, 5, 12], mode="linear", coordinate="half_pixel"), [IMAGE]),
    "resize by scales": (
        lambda x: graph.ResizeOp(x, [2, 4, 18, 20], [1, 1, 2, 2.5], mode="nearest", nearest="floor"),
        [IMAGE],
    ),
    "resize cubic": (
        lambda x: graph.ResizeOp(
            x, [2, 4, 13, 13], mode="cubic", coordinate="align_corners", exclude_outside=True
        ),
        [IMAGE],
    ),
}


def layer(
    cell: str, gates: int, directions: int, *, peepholes: bool = False, lengths: bool = False
) -> list[Array]:
    """The operands of a recurrent layer: 5 steps of 2 rows, 3 numbers in, 4 out."""
    shapes = [(5, 2, 3), (directions, gates * 4, 3), (directions, gates * 4, 4), (directions, 8 * gates)]
    arrays = [normal(*shape) for shape in shapes]
    if lengths:
        arrays.append(np.array([5, 3], np.int32))
    arrays.append(normal(directions, 2, 4))
    if peepholes:
        arrays += [normal(directions, 2, 4), normal(directions, 12)]
    return arrays


def rnn(
    cell: str,
    names: Sequence[str],
    direction: str,
    numbers: Sequence[float] | None = None,
    linear_before_reset: bool = False,
) -> Build:
    """How to build a recurrent layer from its operands."""

    def build(x: SSAValue, w: SSAValue, r: SSAValue, bias: SSAValue, *rest: SSAValue) -> GraphOp:
        has_lengths = len(rest) in (2, 4)
        states = dict(zip(("h0", "c0", "peepholes"), rest[has_lengths:], strict=False))
        alphas = numbers or [0.0] * len(names)
        return graph.RnnOp(
            x,
            w,
            r,
            cell=cell,
            direction=direction,
            activations=names,
            alphas=alphas,
            betas=alphas,
            bias=bias,
            lengths=rest[0] if has_lengths else None,
            linear_before_reset=linear_before_reset,
            h0=states["h0"],
            c0=states.get("c0"),
            peepholes=states.get("peepholes"),
        )

    return build


RECURRENT: dict[str, tuple[Build, list[Array]]] = {
    "lstm": (
        rnn("lstm", ["sigmoid", "tanh", "tanh"], "forward"),
        layer("lstm", 4, 1, peepholes=True, lengths=True),
    ),
    "gru": (
        rnn("gru", ["sigmoid", "tanh"] * 2, "bidirectional", linear_before_reset=True),
        layer("gru", 3, 2),
    ),
    "rnn": (rnn("rnn", ["leaky_relu"], "reverse", [0.25]), layer("rnn", 1, 1)),
}

QUANTIZED: dict[str, tuple[Build, list[Array]]] = {
    "quantize": (
        lambda x, s, z: graph.QuantizeOp(x, s, z, to=i8, axis=1),
        [X, np.array([0.05, 0.1, 0.07], np.float32), integers(-9, 9, 3, dtype=np.int8)],
    ),
    "quantize by one scale": (lambda x, s: graph.QuantizeOp(x, s, to=U8), [X, np.array(0.05, np.float32)]),
    "dequantize": (
        lambda x, s, z: graph.DequantizeOp(x, s, z, to=f32, axis=0),
        [integers(0, 255, 3, 5, dtype=np.uint8), positive(3), integers(0, 255, 3, dtype=np.uint8)],
    ),
    "observe": (lambda x: graph.ObserveOp(x, "a:0", "activation", to=U8), [X]),
    "requantize": (
        lambda x, s, z: graph.RequantizeOp(x, s, z, to=i8, axis=1),
        [
            integers(-9999, 9999, 2, 3, 4, dtype=np.int32),
            np.array([0.01, 0.5, 0.003], np.float32),
            integers(-3, 3, 3, dtype=np.int8),
        ],
    ),
    "conv_integer": (
        lambda x, w, a, b: graph.ConvIntegerOp(x, w, a, b, pads=[1, 1, 1, 1], strides=[2, 1]),
        [
            integers(0, 255, 1, 4, 7, 7, dtype=np.uint8),
            integers(-99, 99, 6, 4, 3, 3, dtype=np.int8),
            np.array(7, np.uint8),
            np.array(-3, np.int8),
        ],
    ),
}

NEAR_ONE = np.array([0, 1e-9, -1e-9, 1e-4, -0.4, 0.6, 3, 80, np.inf, np.nan], np.float32)
COMPOSED: dict[str, tuple[Build, list[Array]]] = {
    "expm1": (graph.Expm1Op, [np.append(NEAR_ONE, np.float32(-np.inf))]),
    "log1p": (graph.Log1pOp, [np.append(NEAR_ONE, np.float32(-1))]),
    "float floor remainder": (
        lambda a, b: graph.RemainderOp(a, b, "floor"),
        [
            np.array([5, -5, 5, -5, 6, -6, 0, 2.5], np.float32),
            np.array([3, 3, -3, -3, 3, 3, -2, 1], np.float32),
        ],
    ),
    "clipped gather": (lambda x, i: graph.GatherOp(x, i, 1, bounds="clip"), [X, integers(-9, 9, 5, 2)]),
    "gather of batches": (lambda x, i: graph.GatherOp(x, i, 1, 1), [X, integers(-3, 2, 2, 5)]),
    "gather after dimensions between": (
        lambda x, i: graph.GatherOp(x, i, 3, 1),
        [normal(2, 3, 4, 5, 6), integers(-5, 4, 2, 7, 8)],
    ),
    "clipped gather of batches": (
        lambda x, i: graph.GatherOp(x, i, 2, 1, "clip"),
        [X, integers(-9, 9, 2, 5, dtype=np.int32)],
    ),
    "insert_slice": (lambda x, u: graph.InsertSliceOp(x, u, [1, 0, 2]), [X, normal(1, 3, 2)]),
    "insert_slice at data": (
        lambda x, u, at: graph.InsertSliceOp(x, u, at),
        [X, normal(1, 2, 4), np.array([0, 1, 0])],
    ),
}

CASES = {**COMPOSED, **ELEMENTWISE, **CONTRACTIONS, **REDUCTIONS, **MOVEMENT, **RECURRENT, **QUANTIZED}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_the_model_of_an_op_computes_its_meaning(name: str) -> None:
    build, arrays = CASES[name]
    check(build, *arrays, tolerance=1e-3 if any(a.dtype == np.float16 for a in arrays) else 5e-6)


DYNAMIC: dict[str, tuple[Build, list[Array], list[Sequence[DimLike]]]] = {
    "reshape": (lambda x: graph.ReshapeOp(x, ["4 * N", 3]), [X], [["N", 3, 4]]),
    "broadcast_to": (
        lambda x, y: graph.BroadcastToOp(x, ["M", "N", 4]),
        [normal(3, 1), normal(2, 5)],
        [["N", 1], ["M", 5]],
    ),
    "extents": (
        lambda x: graph.ExtentsOp(["N ceildiv 3", "(M - 8) floordiv 3", "min(M, N)", "max(M, 2 * N)"]),
        [normal(4, 5)],
        [["N", "M"]],
    ),
    "iota": (lambda x: graph.IotaOp(["N", 2, "M"], 0, i64), [normal(4, 5)], [["N", "M"]]),
    "slice": (lambda x: graph.SliceOp(x, ["N - 1", 0], [-1, "M"], [-1, 2]), [normal(4, 5)], [["N", "M"]]),
    "layer_norm": (lambda x: graph.LayerNormOp(x, axis=1), [normal(4, 5)], [["N", "M"]]),
    "one_hot": (lambda x: graph.OneHotOp(x, "N", 0), [integers(0, 5, 6)], [["N"]]),
    "resize": (
        lambda x: graph.ResizeOp(x, [1, 1, "2 * H", "3 * W"], scales=[1.0, 1.0, 2.0, 3.0]),
        [normal(1, 1, 3, 2)],
        [[1, 1, "H", "W"]],
    ),
    "insert_slice": (
        lambda x, u: graph.InsertSliceOp(x, u, [0, "N - 2"]),
        [normal(3, 5), normal(3, 2)],
        [[3, "N"], [3, 2]],
    ),
    "tile": (lambda x: graph.TileOp(x, ["N", 2]), [normal(3, 5)], [["N", "M"]]),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_sizes_of_symbols_come_from_the_inputs(name: str) -> None:
    build, arrays, dims = DYNAMIC[name]
    check(build, *arrays, dims=dims)


NO_COUNTERPART: dict[str, tuple[Build, list[Array]]] = {
    "blocked conv": (
        lambda x, w: graph.ConvOp(x, w, data_layout="NHWC", kernel_layout="HWIO"),
        [normal(1, 5, 5, 2), normal(3, 3, 2, 4)],
    ),
    "packed matmul": (lambda a, b: graph.MatmulOp(a, b, packing=8), [normal(3, 4), normal(2, 4, 8)]),
    "bit cast": (lambda x: graph.BitcastOp(x, i32), [X]),
    "norm of last axis": (lambda x, m, v: graph.BatchNormOp(x, m, v, axis=2), [X, normal(4), positive(4)]),
}


@pytest.mark.parametrize("name", NO_COUNTERPART)
def test_what_opset_21_lacks_is_refused(name: str) -> None:
    build, arrays = NO_COUNTERPART[name]
    with pytest.raises(StepwellError, match=r"no conversion for graph\."):
        exported(build, arrays)


def test_every_row_is_tested() -> None:
    tested = (
        {type(build(*_placeholders(arrays))) for build, arrays in CASES.values()} | set(UNARY) | {*BINARY}
    )
    tested |= {graph.AndOp, graph.OrOp, graph.XorOp, graph.NotOp, graph.ConstantOp, graph.ExtentsOp}
    tested |= {graph.AssertOp, graph.CheckIndicesOp, graph.CheckOffsetsOp}  # in control.mlir
    # in test_selections_to_onnx.py
    tested |= {graph.HostCallOp, graph.JoinPartsOp, graph.NonMaxSuppressionOp, graph.TreeEnsembleOp}
    rows = {op for row in GRAPH_TO_ONNX for op in matched_op_types(row(WeightStore())) if op is not GraphOp}
    assert rows <= tested, rows - tested


def _placeholders(arrays: Sequence[Array]) -> Sequence[SSAValue]:
    types = [tensor_type(element_of(array.dtype), array.shape) for array in arrays]
    return FuncOp("f", (types, [])).body.block.args
