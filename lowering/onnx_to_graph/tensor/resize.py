"""`Resize` and `Upsample` at every opset → `graph.resize`, with sizes and scales for all axes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import TypeVar

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.advice import on_open_size
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering, renamed
from stepwell.lowering.onnx_to_graph.support import normalized_axis, shape_of
from stepwell.lowering.onnx_to_graph.tensor.resize_by_data import (
    Sampling,
    request_by_scales,
    request_by_sizes,
    resize_by,
)
from stepwell.lowering.to_graph import Formula
from stepwell.passes.analysis.symbolic_values import symbolic_dims
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.errors import StepwellError

T = TypeVar("T")

MAX_DENOMINATOR = 64
"""The greatest denominator of a scale of a symbolic dimension."""


class ResizeLowering(ShapeLowering):
    """`Resize` → `graph.resize`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ResizeOp, rewriter: PatternRewriter) -> None:
        """Resize by numbers that are data, or by `graph.resize` with known scales or sizes."""
        dims = shape_of(op.X, op)
        axes = [normalized_axis(a, len(dims), op) for a in op.integers("axes")] if op.has("axes") else None
        axes = axes if axes is not None else list(range(len(dims)))
        if self._depends_on_data(op, dims):
            rewriter.replace(op, [], [self._resized_by_data(op, axes, rewriter)])
            return
        # Sizes and scales of all axes
        given = self._floats(op, "scales", op.scales)
        if given:
            scales = _spread(op, given, axes, [1.0] * len(dims))
            shape = [scaled(dim, scale, op) for dim, scale in zip(dims, scales, strict=True)]
        else:
            sizes, scale = self._with_policy(op, [dims[axis] for axis in axes], rewriter)
            scales = None if scale is None else _spread(op, [scale] * len(axes), axes, [1.0] * len(dims))
            shape = _spread(op, sizes, axes, list(dims))
        # Region, and the other attributes of sampling
        coordinate = _text(op, "coordinate_transformation_mode", "asymmetric")
        roi = self._floats(op, "roi", op.roi) if coordinate == "tf_crop_and_resize" else None
        whole = [0.0] * len(dims) + [1.0] * len(dims)
        positions = [*axes, *(axis + len(dims) for axis in axes)]
        resized = graph.ResizeOp(
            op.X,
            shape,
            scales,
            mode=_text(op, "mode", "nearest"),
            coordinate=coordinate,
            nearest=_text(op, "nearest_mode", _old_rounding(op, scales)),
            cubic_a=op.floating("cubic_coeff_a") if op.has("cubic_coeff_a") else -0.75,
            antialias=op.has("antialias") and op.integer("antialias") == 1,
            exclude_outside=op.has("exclude_outside") and op.integer("exclude_outside") == 1,
            roi=None if roi is None else _spread(op, roi, positions, whole),
            extrapolation=op.floating("extrapolation_value") if op.has("extrapolation_value") else 0.0,
        )
        rewriter.replace(op, resized)

    def _depends_on_data(self, op: onnx.ResizeOp, dims: Sequence[Dim]) -> bool:
        """Whether weights, or the common scale of all axes, are known at run time only."""
        if op.scales is not None and shape_of(op.scales, op) != (Dim.of(0),):
            if self.array(op.scales) is None:
                return True
        elif op.sizes is not None:
            known = symbolic_dims(op.sizes, self.weights) or (Dim.symbol(UNKNOWN),)
            stretches = _text(op, "keep_aspect_ratio_policy", "stretch") == "stretch"
            antialias = op.has("antialias") and op.integer("antialias") == 1
            if not all(dim.is_static for dim in (*known, *dims)) and (antialias or not stretches):
                return True
        crops = _text(op, "coordinate_transformation_mode", "") == "tf_crop_and_resize"
        return crops and op.roi is not None and self.array(op.roi) is None

    def _resized_by_data(
        self, op: onnx.ResizeOp | onnx.UpsampleOp, axes: Sequence[int], rewriter: PatternRewriter
    ) -> SSAValue:
        """The tensor resized by scales, sizes or a region that are data."""
        rounds_by_scale = isinstance(op, onnx.ResizeOp) and onnx.opset_of(op) <= 10
        how = Sampling(
            _text(op, "mode", "nearest").removeprefix("bi"),
            _text(op, "coordinate_transformation_mode", "asymmetric"),
            "by_scale" if rounds_by_scale else _text(op, "nearest_mode", "floor"),
            op.floating("cubic_coeff_a") if op.has("cubic_coeff_a") else -0.75,
            op.has("antialias") and op.integer("antialias") == 1,
            op.has("exclude_outside") and op.integer("exclude_outside") == 1,
            op.floating("extrapolation_value") if op.has("extrapolation_value") else 0.0,
        )
        at = Formula(self, rewriter)
        x, count = at.value(op.X), len(axes)
        region = _of_length(op, "roi", op.roi, 2 * count, rewriter) if isinstance(op, onnx.ResizeOp) else None
        about = None if region is None else at.value(region)
        if (scales := _of_length(op, "scales", op.scales, count, rewriter)) is not None:
            request = request_by_scales(x, axes, at.value(scales), about)
        else:
            sizes = (
                _of_length(op, "sizes", op.sizes, count, rewriter) if isinstance(op, onnx.ResizeOp) else None
            )
            if sizes is None:
                raise StepwellError("invalid-model", op, f"{op.op_type}: neither scales nor sizes are given")
            policy = _text(op, "keep_aspect_ratio_policy", "stretch")
            request = request_by_sizes(x, axes, at.value(sizes), policy, about)
        return resize_by(x, axes, request, how).ssa

    def _floats(self, op: onnx.OnnxOp, name: str, value: SSAValue | None) -> list[float] | None:
        """Constant numbers; None if they are absent or, as in some models, empty."""
        if value is None:
            return None
        array = self.array(value)
        if array is None:
            raise StepwellError("unsupported", op, f"{op.op_type}: `{name}` must be constant")
        return [float(number) for number in array.reshape(-1)] or None

    def _with_policy(
        self, op: onnx.ResizeOp, dims: Sequence[Dim], rewriter: PatternRewriter
    ) -> tuple[Sequence[Dim], float | None]:
        """The sizes that the node requests, and the common scale if the aspect ratio is preserved."""
        sizes = self.sizes(op, "sizes", op.sizes, rewriter) or ()
        policy = _text(op, "keep_aspect_ratio_policy", "stretch")
        if policy == "stretch":
            return sizes, None
        if not all(dim.is_static for dim in (*sizes, *dims)):
            raise StepwellError(
                "unsupported", op, f"{op.op_type}: keep_aspect_ratio_policy {policy} needs fixed shapes"
            )
        quotients = [size.value / dim.value for size, dim in zip(sizes, dims, strict=True)]
        scale = min(quotients) if policy == "not_larger" else max(quotients)
        return [Dim.of(floor(scale * dim.value + 0.5)) for dim in dims], scale


class UpsampleLowering(ResizeLowering):
    """`Upsample` of old opsets → `graph.resize` with asymmetric coordinates."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.UpsampleOp, rewriter: PatternRewriter) -> None:
        """Read the scales from input or attributes, and resize with asymmetric coordinates."""
        dims = shape_of(op.X, op)
        if op.scales is not None and self.array(op.scales) is None:
            rewriter.replace(op, [], [self._resized_by_data(op, range(len(dims)), rewriter)])
            return
        scales = self._floats(op, "scales", op.scales)
        if scales is None and op.has("scales"):
            scales = list(op.floats("scales"))
        if scales is None:
            scales = [1.0, 1.0, op.floating("height_scale"), op.floating("width_scale")]
        shape = [scaled(dim, scale, op) for dim, scale in zip(dims, scales, strict=True)]
        mode = _text(op, "mode", "nearest")
        rewriter.replace(
            op,
            graph.ResizeOp(
                op.X,
                shape,
                scales,
                mode="linear" if mode == "bilinear" else mode,
                coordinate="asymmetric",
                nearest="floor",
            ),
        )


def _of_length(
    op: onnx.OnnxOp, name: str, value: SSAValue | None, count: int, rewriter: PatternRewriter
) -> SSAValue | None:
    """
    A vector of one number an axis; None if it is absent or, as in some models, empty.

    Raises: StepwellError `invalid-model` for another length.
    """
    if value is None or (dims := shape_of(value, op)) == (Dim.of(0),):
        return None
    if len(dims) != 1 or (dims[0].is_static and dims[0].value != count):
        found = " x ".join(map(str, dims))
        raise StepwellError("invalid-model", op, f"{op.op_type}: `{name}` has {count} numbers, found {found}")
    return renamed(op, value, [Dim.of(count)], f"`{name}` has one number an axis", rewriter)


def scaled(dim: Dim, scale: float, op: onnx.OnnxOp) -> Dim:
    """
    ⌊dim · scale⌋.

    Raises: StepwellError `unsupported` for a symbolic dimension and a scale with a large denominator.
    """
    if dim.is_static:
        return Dim.of(floor(dim.value * scale))
    fraction = Fraction(scale)
    if fraction.denominator > MAX_DENOMINATOR:
        raise StepwellError(
            "unsupported",
            op,
            f"{op.op_type}: the size of dimension {dim} scaled by {scale}",
            help=on_open_size(op),
        )
    return dim * fraction.numerator // fraction.denominator


def _old_rounding(op: onnx.OnnxOp, scales: Sequence[float] | None) -> str:
    """The rounding of opset 10: down when it enlarges, up when it shrinks; `floor` from opset 11 on."""
    if onnx.opset_of(op) > 10 or scales is None or all(scale >= 1 for scale in scales):
        return "floor"
    if any(scale > 1 for scale in scales):
        raise StepwellError(
            "unsupported", op, f"{op.op_type}: one axis grows and another shrinks, at opset 10"
        )
    return "ceil"


def _text(op: onnx.OnnxOp, name: str, absent: str) -> str:
    """A string attribute, or a default."""
    return op.string(name) if op.has(name) else absent


def _spread(op: onnx.OnnxOp, values: Sequence[T], positions: Sequence[int], default: Sequence[T]) -> list[T]:
    """
    The default with some elements replaced. Raises: StepwellError `invalid-model` for a wrong number of
    values.
    """
    if len(values) != len(positions):
        raise StepwellError(
            "invalid-model", op, f"{op.op_type}: expected {len(positions)} numbers, found {len(values)}"
        )
    result = list(default)
    for position, value in zip(positions, values, strict=True):
        result[position] = value
    return result
