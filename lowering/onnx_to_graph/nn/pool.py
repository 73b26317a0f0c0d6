"""Pools of ONNX → `graph.pool`; pools over the whole feature map → `graph.reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import FloatAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dtype_of
from stepwell.lowering.onnx_to_graph.nn.convolution import padded_input
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, rank_of, shape_of
from stepwell.lowering.onnx_to_graph.window_attributes import Windows, spatial_rank, windows_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class PoolLowering(OnnxLowering):
    """
    `onnx.MaxPool`, `onnx.AveragePool`, `onnx.LpPool` → `graph.pool`.

    With `auto_pad` the number of windows does not depend on `ceil_mode`.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.MaxPoolOp | onnx.AveragePoolOp | onnx.LpPoolOp, rewriter: PatternRewriter
    ) -> None:
        """Determine kernel and windows; symbolic pads are left to `_of_open_size`."""
        kernel = op.integers("kernel_shape") if op.has("kernel_shape") else _whole_kernel(op, op.X)
        windows = windows_of(op, op.X, kernel)
        kind = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}[op.op_type]
        pool = Pool(kind, kernel, windows, _norm_order(op) if isinstance(op, onnx.LpPoolOp) else 2)
        if windows.static_pads is None:
            rewriter.replace(op, [], self._of_open_size(op, pool, rewriter))
            return
        with_indices = isinstance(op, onnx.MaxPoolOp) and op.Indices is not None
        made = pool.of(
            op.X,
            ceil=_flag(op, "ceil_mode") and op.string("auto_pad") == "NOTSET",
            count_include_pad=_flag(op, "count_include_pad"),
            indices=("column" if _flag(op, "storage_order") else "row") if with_indices else "none",
        )
        rewriter.replace(op, made)

    def _of_open_size(
        self, op: onnx.MaxPoolOp | onnx.AveragePoolOp | onnx.LpPoolOp, pool: Pool, rewriter: PatternRewriter
    ) -> list[SSAValue]:
        """
        SAME with strides over an open size: a `graph.pad` before the pool; a mean divides by its window's
        share of cells.
        """
        at = Formula(self, rewriter)
        x = at.value(op.X)
        dtype = dtype_of(x.element)
        lowest = np.iinfo(dtype.name).min if dtype.kind in "iu" else -np.inf
        fill = at.number(lowest if pool.kind == "max" else 0, x.element)
        padded, _ = padded_input(op.X, pool.windows, rewriter, fill.ssa)
        if isinstance(op, onnx.MaxPoolOp) and op.Indices is not None:
            made = rewriter.insert(pool.of(padded, padded=True, indices="row"))
            positions = _unpadded(at.value(made.results[1]), at.value(padded), x, pool.windows.pads)
            return [made.results[0], _flat(*positions, column=_flag(op, "storage_order")).ssa]
        result = at.op(pool.of(padded, padded=True))
        if pool.kind != "avg" or _flag(op, "count_include_pad"):
            return [result.ssa]
        cells = at.full(1, [Dim.of(1), Dim.of(1), *x.dims[2:]], x.element)
        shares = pool.of(padded_input(cells.ssa, pool.windows, rewriter, fill.ssa)[0], padded=True)
        return [(result / at.op(shares)).ssa]


@dataclass(frozen=True)
class Pool:
    """The parameters of a pool, without its input."""

    kind: str
    kernel: Sequence[int]
    windows: Windows
    order: int
    """The order of an LpPool's norm."""

    def of(
        self,
        x: SSAValue,
        *,
        padded: bool = False,
        ceil: bool = False,
        count_include_pad: bool = False,
        indices: str = "none",
    ) -> graph.PoolOp:
        """The pool of an input, which may be padded already."""
        return graph.PoolOp(
            x,
            self.kind,
            self.kernel,
            strides=self.windows.strides,
            dilations=self.windows.dilations,
            pads=None if padded else self.windows.static_pads,
            ceil=ceil,
            count_include_pad=count_include_pad,
            p=self.order,
            indices=indices,
        )


def _unpadded(
    flat: Value, padded: Value, x: Value, pads: Sequence[Dim]
) -> tuple[Value, list[Value], list[Value]]:
    """
    Flat row-major positions in padded feature maps, split: feature map, position per axis, sizes without
    padding.

    A position in the padding is clamped to the edge: the maximum is there too, as padding is the lowest
    number.
    """
    positions: list[Value] = []
    sizes: list[Value] = []
    for axis in reversed(range(2, x.rank)):
        width, low, size = (
            flat.formula.extent(d, i64) for d in (padded.dims[axis], pads[axis - 2], x.dims[axis])
        )
        positions.insert(0, (flat % width - low).clip(0, size - 1))
        sizes.insert(0, size)
        flat = flat / width
    return flat, positions, sizes


def _flat(feature_map: Value, positions: Sequence[Value], sizes: Sequence[Value], *, column: bool) -> Value:
    """Flat positions in all feature maps: the last axis is the fastest, with `column` the first one."""
    steps = list(zip(positions, sizes, strict=True))
    for position, size in reversed(steps) if column else steps:
        feature_map = feature_map * size + position
    return feature_map


def _whole_kernel(op: onnx.OnnxOp, x: SSAValue) -> Sequence[int]:
    """The kernel of a pool without `kernel_shape`, such as LpPool below opset 2: all spatial axes."""
    sizes = shape_of(x, op)[2:]
    if not all(size.is_static for size in sizes):
        raise StepwellError("unsupported", op, f"{op.op_type} without kernel_shape over an unknown size")
    return [size.value for size in sizes]


def _flag(op: onnx.OnnxOp, name: str) -> bool:
    """A boolean attribute, False when absent."""
    return op.has(name) and bool(op.integer(name))


def _norm_order(op: onnx.OnnxOp) -> int:
    """The order `p` of a norm: an int, below opset 2 a float, which must be whole."""
    value: Attribute | None = op.attribute("p")
    if not isinstance(value, FloatAttr):
        return op.integer("p")
    order = op.floating("p")
    if order != int(order) or order < 1:
        raise StepwellError("unsupported", op, f"{op.op_type}: p must be a whole number, found {order}")
    return int(order)


class GlobalPoolLowering(OnnxLowering):
    """
    `onnx.GlobalAveragePool`, `onnx.GlobalMaxPool` → `graph.reduce` over the spatial axes.

    ```mlir
    %y = "onnx.GlobalAveragePool"(%x) : (tensor<1x64x7x7xf32>) -> tensor<*xf32>
    // ->
    %y = graph.reduce %x kind "mean" axes [2, 3] keep_dims true : tensor<1x64x7x7xf32> -> tensor<1x64x1x1xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.GlobalAveragePoolOp | onnx.GlobalMaxPoolOp, rewriter: PatternRewriter
    ) -> None:
        """Reduce over all spatial axes, which become 1."""
        kind = "mean" if isinstance(op, onnx.GlobalAveragePoolOp) else "max"
        spatial_rank(op, op.X)
        rewriter.replace(op, graph.ReduceOp(op.X, kind, range(2, rank_of(op.X, op)), keep_dims=True))


class GlobalLpPoolLowering(OnnxLowering):
    """`onnx.GlobalLpPool` → `graph.reduce` for p 1 and 2, else the root of a sum of powers."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GlobalLpPoolOp, rewriter: PatternRewriter) -> None:
        """Reduce by l1 or l2, else take the p-th root of the sum of p-th powers."""
        spatial_rank(op, op.X)
        axes = range(2, rank_of(op.X, op))
        order = _norm_order(op)
        if order in (1, 2):
            rewriter.replace(op, graph.ReduceOp(op.X, f"l{order}", axes, keep_dims=True))
            return
        element = element_of(op.X)
        size = rewriter.insert(graph.AbsOp(op.X)).result
        power = rewriter.insert(graph.PowerOp(size, self.scalar(order, element, rewriter))).result
        total = rewriter.insert(graph.ReduceOp(power, "sum", axes, keep_dims=True)).result
        rewriter.replace(op, graph.PowerOp(total, self.scalar(1 / order, element, rewriter)))
