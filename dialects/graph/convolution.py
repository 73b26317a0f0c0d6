"""Convolutions of the graph level: any rank, groups, dilation, explicit layouts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, StringAttr, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import Operand, irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.contraction import FALSE, expect_pairs
from stepwell.dialects.types import Tensor, bool_attr, dims_of, int_attr, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import Layout, parse_layout, plain_layout
from stepwell.runtime.window import dilated, window_count


def checked_layout(text: str, value: SSAValue, needs: str) -> Layout:
    """
    The layout of a tensor value, checked against its rank and the axes it needs (`"NC"`, `"OI"`).

    Raises: VerifyException for text that is no layout, or no layout of this tensor.
    """
    try:
        layout = parse_layout(text)
    except ValueError as error:
        raise VerifyException(str(error)) from None
    type = tensor_of(value)
    if layout.rank != (rank := len(dims_of(type))):
        raise VerifyException(f'layout "{text}" has {layout.rank} dimensions, the tensor {rank}: {type}')
    if not {*needs} <= {*layout.letters}:
        raise VerifyException(f'layout "{text}" needs the axes {", ".join(needs)}')
    return layout


def check_windows(
    rank: int, strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int], kernel: Sequence[Dim]
) -> None:
    """Require one positive stride, dilation and kernel size per spatial axis, and two pads."""
    for name, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != rank or any(v < 1 for v in values):
            raise VerifyException(f"{name} must be {rank} positive numbers, found {list(values)}")
    if len(pads) != 2 * rank:
        raise VerifyException(
            f"pads must be {2 * rank} numbers, all begins then all ends, found {list(pads)}"
        )
    if any(k.is_static and k.value < 1 for k in kernel):
        raise VerifyException(f"kernel must be {rank} positive numbers, found {[str(k) for k in kernel]}")


def check_fits(
    sizes: Sequence[Dim], kernel: Sequence[Dim], dilations: Sequence[int], pads: Sequence[int]
) -> None:
    """Require at least one window on each axis whose size is known."""
    rank = len(sizes)
    for size, points, dilation, begin, end in zip(
        sizes, kernel, dilations, pads[:rank], pads[rank:], strict=True
    ):
        padded, span = size + (begin + end), dilated(points, dilation)
        if padded.is_static and span.is_static and padded.value < span.value:
            raise VerifyException(f"kernel spans {span} cells, the padded input has {padded}")


class SlidingFiltersOp(GraphOp, ABC):
    """Filters that slide over the spatial axes of a tensor: what all convolutions share."""

    KIND: ClassVar[Kind] = Kind.CONTRACTION

    if TYPE_CHECKING:
        # Each op defines its operands: those of a base class would come last.
        x: Operand
        w: Operand
    result = result_def(AnyTensor)
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    groups = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    data_layout = prop_def(StringAttr, default_value=StringAttr("NCHW"))
    kernel_layout = prop_def(StringAttr, default_value=StringAttr("OIHW"))
    out_layout = opt_prop_def(StringAttr)

    @property
    def output_layout(self) -> Layout:
        """The layout of the result."""
        return parse_layout((self.out_layout or self.data_layout).data)

    @abstractmethod
    def result_element(self) -> Attribute:
        """The element type of the result."""

    def check(self) -> None:
        data = checked_layout(self.data_layout.data, self.x, "NC")
        kernel = checked_layout(self.kernel_layout.data, self.w, "OI")
        if len(data.spatial) < 1 or not data.spatial == kernel.spatial == self._out_spatial():  # (C1)
            raise VerifyException(
                f"layouts must name the same spatial axes: {data}, {kernel}, {self.output_layout}"
            )
        x, w = data.logical(dims_of(self.x.type)), kernel.logical(dims_of(self.w.type))
        points = [w[letter] for letter in kernel.spatial]
        pads, dilations = self.pads.get_values(), self.dilations.get_values()
        check_windows(len(points), self.strides.get_values(), dilations, pads, points)  # (C2)
        if any(p < 0 for p in pads):
            raise VerifyException(f"pads must not be negative, found {list(pads)}")
        check_groups(x["C"], w["I"], w["O"], self.groups.value.data)  # (C3)
        check_fits([x[letter] for letter in data.spatial], points, dilations, pads)  # (C4)

    def _out_spatial(self) -> tuple[str, ...]:
        try:
            return self.output_layout.spatial
        except ValueError as error:
            raise VerifyException(str(error)) from None

    def infer(self) -> Sequence[Attribute]:  # (C5)
        data, kernel = parse_layout(self.data_layout.data), parse_layout(self.kernel_layout.data)
        x, w = data.logical(dims_of(self.x.type)), kernel.logical(dims_of(self.w.type))
        extents = {"N": x["N"], "C": w["O"]}
        pads, rank = self.pads.get_values(), len(data.spatial)
        for axis, letter in enumerate(data.spatial):
            stride, dilation = self.strides.get_values()[axis], self.dilations.get_values()[axis]
            extents[letter] = window_count(
                x[letter], w[letter], stride, dilation, pads[axis], pads[rank + axis]
            )
        return [tensor_type(self.result_element(), self.output_layout.physical(extents))]


def window_properties(
    x: SSAValue,
    w: SSAValue,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    groups: int,
    layouts: tuple[str | None, str | None, str | None],
) -> dict[str, Attribute | None]:
    """The properties of a convolution, with defaults: windows of step 1, no padding, channels first."""
    data = layouts[0] or plain_layout("NC", len(dims_of(x.type)) - 2)
    kernel = layouts[1] or plain_layout("OI", len(dims_of(w.type)) - 2)
    rank = len(parse_layout(data).spatial)
    return {
        "strides": DenseArrayBase.from_list(i64, strides or [1] * rank),
        "dilations": DenseArrayBase.from_list(i64, dilations or [1] * rank),
        "pads": DenseArrayBase.from_list(i64, pads or [0] * 2 * rank),
        "groups": int_attr(groups),
        "data_layout": StringAttr(data),
        "kernel_layout": StringAttr(kernel),
        "out_layout": None if layouts[2] in (None, data) else StringAttr(layouts[2]),
    }


@irdl_op_definition
class ConvOp(SlidingFiltersOp):
    """
    Slide filters over the spatial axes of a tensor (cross-correlation, as all frameworks call convolution).

    ```mlir
    %y = graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1]
      : (tensor<1x64x56x56xf32>, tensor<128x64x3x3xf32>) -> tensor<1x128x28x28xf32>
    %b = graph.conv %x, %v strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
      kernel_layout "OIHW16o" out_layout "NCHW16c"
      : (tensor<1x64x56x56xf32>, tensor<2x64x1x1x16xf32>) -> tensor<1x2x56x56x16xf32>
    ```
    `pads` has all begins, then all ends. Filters see `channels / groups` channels each. With `pairs`,
    operands are i32, each the bf16 of two neighbouring channels, the first one lower: one channel here.
    Constraints:
      (C1) the layouts fit the ranks and name the same spatial axes.
      (C2) one positive stride and dilation, two non-negative pads, a positive kernel size per spatial axis.
      (C3) `channels == groups * I`, and `groups` divides `O`.
      (C4) at least one window on each axis.
      (C5) `result = [N, O, spatial ⌊(in + pads - K) / stride⌋ + 1]` in `out_layout` (default: `data_layout`).
      (C6) `pairs` needs operands of i32; the result is f32.
    Source: ONNX Conv, opset 22.
    """

    name = "graph.conv"

    x = operand_def(AnyTensor)
    w = operand_def(AnyTensor)
    pairs = prop_def(BoolAttr, default_value=FALSE)
    traits = traits_def(Pure())
    assembly_format = (
        "$x `,` $w `strides` $strides `dilations` $dilations `pads` $pads (`groups` $groups^)? "
        "(`pairs` $pairs^)? "
        "(`data_layout` $data_layout^)? (`kernel_layout` $kernel_layout^)? (`out_layout` $out_layout^)? "
        "attr-dict `:` `(` type($x) `,` type($w) `)` `->` type($result)"
    )

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        groups: int = 1,
        pairs: bool = False,
        data_layout: str | None = None,
        kernel_layout: str | None = None,
        out_layout: str | None = None,
    ):
        layouts = data_layout, kernel_layout, out_layout
        windows = window_properties(x, w, strides, dilations, pads, groups, layouts)
        self.initialize([x, w], {**windows, "pairs": bool_attr(pairs)})

    def check(self) -> None:
        if self.pairs.value.data:  # (C6)
            expect_pairs(self.x, self.w)
        super().check()

    def result_element(self) -> Attribute:
        return f32 if self.pairs.value.data else tensor_of(self.x).element_type


def check_groups(channels: Dim, depth: Dim, width: Dim, groups: int) -> None:
    """Require that filter depth times groups is the number of channels, and that groups divide filters."""
    if groups < 1:
        raise VerifyException(f"groups must be positive, found {groups}")
    if channels.is_static and depth.is_static and channels != depth * groups:
        raise VerifyException(
            f"weight expects {depth} input channels in each of {groups} groups, input has {channels}"
        )
    if width.is_static and width.value % groups:
        raise VerifyException(f"groups must divide the output channels: {groups} groups, {width} channels")


@irdl_op_definition
class ConvTransposeOp(GraphOp):
    """
    The transpose of a convolution: each input cell adds its multiple of the kernel to the output.

    ```mlir
    %y = graph.conv_transpose %x, %w strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] output_padding [1, 1]
      : (tensor<1x64x7x7xf32>, tensor<64x32x3x3xf32>) -> tensor<1x32x14x14xf32>
    ```
    `pads` crops the result; a negative pad adds cells of zero. In `IOHW`, I counts all
    input channels, O the output channels of one group.
    Constraints:
      (C1) the layouts fit the ranks and name the same spatial axes.
      (C2) a positive stride, dilation and kernel size, two pads, an output padding >= 0 per spatial axis.
      (C3) `channels == I`, and `groups` divides it.
      (C4) `result = [N, groups * O, spatial stride * (in - 1) + output_padding + K - pads]`, none negative.
    Source: ONNX ConvTranspose, opset 22.
    """

    name = "graph.conv_transpose"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    x = operand_def(AnyTensor)
    w = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    output_padding = prop_def(DenseArrayBase.constr(i64))
    groups = prop_def(IntegerAttr.constr(i64), default_value=int_attr(1))
    data_layout = prop_def(StringAttr, default_value=StringAttr("NCHW"))
    kernel_layout = prop_def(StringAttr, default_value=StringAttr("IOHW"))

    traits = traits_def(Pure())
    assembly_format = (
        "$x `,` $w `strides` $strides `dilations` $dilations `pads` $pads `output_padding` $output_padding "
        "(`groups` $groups^)? (`data_layout` $data_layout^)? (`kernel_layout` $kernel_layout^)? "
        "attr-dict `:` `(` type($x) `,` type($w) `)` `->` type($result)"
    )

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        output_padding: Sequence[int] | None = None,
        groups: int = 1,
    ):
        rank = len(dims_of(x.type)) - 2
        self.initialize(
            [x, w],
            {
                "strides": strides or [1] * rank,
                "dilations": dilations or [1] * rank,
                "pads": pads or [0] * 2 * rank,
                "output_padding": output_padding or [0] * rank,
                "groups": groups,
                "data_layout": plain_layout("NC", rank),
                "kernel_layout": plain_layout("IO", rank),
            },
        )

    def check(self) -> None:
        data = checked_layout(self.data_layout.data, self.x, "NC")
        kernel = checked_layout(self.kernel_layout.data, self.w, "IO")
        if len(data.spatial) < 1 or data.spatial != kernel.spatial:  # (C1)
            raise VerifyException(f"layouts must name the same spatial axes: {data}, {kernel}")
        x, w = data.logical(dims_of(self.x.type)), kernel.logical(dims_of(self.w.type))
        points = [w[letter] for letter in kernel.spatial]
        strides, extra = self.strides.get_values(), self.output_padding.get_values()
        check_windows(
            len(points), strides, self.dilations.get_values(), self.pads.get_values(), points
        )  # (C2)
        if len(extra) != len(points) or any(e < 0 for e in extra):
            raise VerifyException(f"output_padding must be {len(points)} numbers >= 0, found {list(extra)}")
        groups = self.groups.value.data
        if x["C"].is_static and w["I"].is_static and x["C"] != w["I"]:  # (C3)
            raise VerifyException(f"weight expects {w['I']} input channels, input has {x['C']}")
        if groups < 1 or (w["I"].is_static and w["I"].value % groups):
            raise VerifyException(
                f"groups must divide the input channels: {groups} groups, {w['I']} channels"
            )
        if any(d.is_static and d.value < 0 for d in self._extents().values()):  # (C4)
            raise VerifyException("pads cut away more than the whole result")

    def _extents(self) -> dict[str, Dim]:
        data, kernel = parse_layout(self.data_layout.data), parse_layout(self.kernel_layout.data)
        x, w = data.logical(dims_of(self.x.type)), kernel.logical(dims_of(self.w.type))
        extents = {"N": x["N"], "C": w["O"] * self.groups.value.data}
        pads, rank = self.pads.get_values(), len(data.spatial)
        for axis, letter in enumerate(data.spatial):
            span = dilated(w[letter], self.dilations.get_values()[axis])
            cells = (x[letter] - 1) * self.strides.get_values()[axis] + span
            extents[letter] = cells + self.output_padding.get_values()[axis] - pads[axis] - pads[rank + axis]
        return extents

    def infer(self) -> Sequence[Attribute]:
        type: Tensor = tensor_of(self.x)
        return [tensor_type(type.element_type, parse_layout(self.data_layout.data).physical(self._extents()))]
