"""Resizes on level 2: repeated elements, elements at indices from tables, sums along an axis at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Attribute, OpResult
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def

from stepwell.dialects.graph.resize import ResizeOp as GraphResizeOp
from stepwell.dialects.graph.resize import ResizeProperties
from stepwell.dialects.linalg_ext.forms import Form, FormsOp
from stepwell.dialects.tensor_ir.sizes import size_through_views
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.types import dims_attr, dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

MAX_NEIGHBOURS = 64
"""The most neighbours that are unrolled into a body."""


@irdl_op_definition
class ResizeOp(ResizeProperties, FormsOp):
    """
    A `graph.resize` with known scales into a tensor, which has the sizes of the result.

    ```mlir
    %y = linalg_ext.resize %x into %init scales [1.0, 1.0, 2.0, 2.5] mode "linear" coordinate "half_pixel"
      nearest "floor" cubic_a -7.5e-1 extrapolation 0.0
      {sched.schedule = #sched.schedule<form = "first-axis-first">}
      : (tensor<1x3x4x4xf32>, tensor<1x3x8x10xf32>) -> tensor<1x3x8x10xf32>
    ```
    Its schedule has a `form`:
    - `repeat`: every element is repeated by a whole factor, for nearest neighbours.
    - `gather`: elements at indices from a table for each axis, for nearest neighbours.
    - `last-axis-first`: the neighbours along an axis, weighted, for one axis after the other.
    - `first-axis-first`: the same, in the other order of axes.

    Constraints:
      (C1) operands and properties are as for `graph.resize`.
      (C2) the result has the type of `init` and the shape of the result of `graph.resize`.
    """

    name = "linalg_ext.resize"
    GRAPH_OP: ClassVar = GraphResizeOp

    input = operand_def(TensorType)
    init = operand_def(TensorType)
    result = result_def(TensorType)
    of = opt_prop_def(Attribute)

    assembly_format = (
        "$input `into` $init (`of` $of^)? (`scales` $scales^)? `mode` $mode `coordinate` $coordinate"
        " `nearest` $nearest `cubic_a` $cubic_a (`antialias` $antialias^)?"
        " (`exclude_outside` $exclude_outside^)? (`roi` $roi^)? `extrapolation` $extrapolation"
        " attr-dict `:` functional-type(operands, results)"
    )

    def size_properties(self, sizes: Sequence[Sequence[Dim]]) -> Mapping[str, Attribute]:
        return {"shape": dims_attr(sizes[0])}

    @property
    def sizes(self) -> tuple[list[Dim], list[Dim]]:
        """The dimensions of the input, and those of the result."""
        source = self.input
        if isinstance(source, OpResult) and isinstance(before := source.op, FormsOp):
            source = before.written[source.index]
        input, result = (
            [size_through_views(value, d) or dims_of(value.type)[d] for d in range(len(dims_of(value.type)))]
            for value in (source, self.init)
        )
        return input, result

    def forms(self) -> Mapping[str, Form]:
        is_nearest = self.mode.data == "nearest"
        is_direct = is_nearest and self.coordinate.data != "tf_crop_and_resize"
        direct = None if is_direct else "forms repeat and gather need mode nearest, without a crop"
        factors = whole_factors(self, *self.sizes) if is_direct else None
        whole = None if factors else "form repeat needs whole factors, and a rounding that repeats"
        # Sums of integers are rounded to them, which shows the order of sums.
        is_any_order = is_nearest or isinstance(self.of or tensor_element(self.input), AnyFloat)
        order = None if is_any_order else "form first-axis-first needs floats"
        forms = {
            "repeat": Form({}, direct or whole),
            "gather": Form({}, direct),
            "last-axis-first": Form({}),
            "first-axis-first": Form({}, order),
        }
        return dict(sorted(forms.items(), key=lambda item: item[1].refusal is not None))


def sampled_axes(op: GraphResizeOp | ResizeOp, dims: Sequence[Dim], shape: Sequence[Dim]) -> list[int]:
    """The resampled axes: of another extent in the result, or of a scale that is not 1."""
    scales = op.scales.get_values() if op.scales is not None else [1.0] * len(shape)
    crops = op.coordinate.data == "tf_crop_and_resize"
    sizes = zip(dims, shape, scales, strict=True)
    return [axis for axis, (n, out, scale) in enumerate(sizes) if crops or n != out or scale != 1]


def whole_factors(
    op: GraphResizeOp | ResizeOp, dims: Sequence[Dim], shape: Sequence[Dim]
) -> list[int] | None:
    """
    The repeat count of elements along each axis for a nearest resize that only repeats; None for any other.
    """
    rounds = ("round_prefer_floor", "round_prefer_ceil")
    centred = dict.fromkeys(("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"), rounds)
    kinds = centred | {"asymmetric": ("floor", rounds[0]), "tf_half_pixel_for_nn": ("floor",)}
    if op.nearest.data not in kinds.get(op.coordinate.data, ()):
        return None
    quotients = [Dim.of(1) if n == out else out // n for n, out in zip(dims, shape, strict=True)]
    repeats = zip(quotients, dims, shape, strict=True)
    if not all(q.is_static and q.value >= 1 and n * q == out for q, n, out in repeats):
        return None
    factors = [q.value for q in quotients]
    if op.coordinate.data == "asymmetric" and op.nearest.data in rounds and max(factors) > 2:
        return None  # the last ones of each three are nearer to the next element
    scales = op.scales.get_values() if op.scales is not None else factors
    return factors if list(scales) == factors else None


def stretch(op: GraphResizeOp | ResizeOp, dims: Sequence[Dim], shape: Sequence[Dim], axis: int) -> float:
    """
    The scale of the kernel's argument: less than 1 widens it, with `antialias` when shrinking, else 1.

    Raises: StepwellError `unsupported` for antialias of unknown sizes without scales.
    """
    if op.antialias is None:
        return 1.0
    dim, out = dims[axis], shape[axis]
    if op.scales is not None:
        return min(op.scales.get_values()[axis], 1.0)
    if not (dim.is_static and out.is_static):
        raise StepwellError("unsupported", op, "graph.resize: antialias needs fixed shapes or scales")
    return min(out.value / max(dim.value, 1), 1.0)


def neighbour_offsets(
    op: GraphResizeOp | ResizeOp, dims: Sequence[Dim], shape: Sequence[Dim], axis: int
) -> range:
    """
    Offsets of the neighbours with a weight, relative to the last element at or before the coordinate.

    Raises: StepwellError `unsupported` for more than `MAX_NEIGHBOURS`.
    """
    if op.mode.data == "nearest":
        return range(1)
    reach = ceil((1 if op.mode.data == "linear" else 2) / stretch(op, dims, shape, axis))
    if 2 * reach > MAX_NEIGHBOURS:
        raise StepwellError(
            "unsupported", op, f"graph.resize: {2 * reach} neighbours, at most {MAX_NEIGHBOURS} are supported"
        )
    return range(1 - reach, reach + 1)
