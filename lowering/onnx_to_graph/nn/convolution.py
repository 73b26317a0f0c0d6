"""Convolutions of ONNX → `graph.conv`, `graph.conv_transpose` and `graph.bias_add`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.advice import on_open_size
from stepwell.dialects.graph.relations import differ
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.shape_values import renamed
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.lowering.onnx_to_graph.window_attributes import (
    Windows,
    optional_integers,
    spatial_rank,
    windows_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.window import dilated


def known_filters(op: onnx.OnnxOp, x: SSAValue, w: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """
    Filters [O, I, spatial…] whose open sizes are inferred from the node and its input, checked at run time.

    `kernel_shape` gives the kernel, the channels of the input give I, or O if `op` is a transposed
    convolution.
    Raises: StepwellError `invalid-model` when `kernel_shape` differs from a known size, or `group` is not
    positive.
    """
    dims = list(shape_of(w, op))
    given = optional_integers(op, "kernel_shape")
    if given is not None and (len(given) != len(dims) - 2 or any(map(differ, dims[2:], map(Dim.of, given)))):
        raise StepwellError(
            "invalid-model", op, f"{op.op_type}: kernel_shape is {list(given)}, the filters are {w.type}"
        )
    known = [*dims[:2], *(dims[2:] if given is None else map(Dim.of, given))]
    channels, groups = shape_of(x, op)[1], group_count(op)
    if isinstance(op, onnx.ConvTransposeOp):
        known[0] = channels if channels.is_static else dims[0]
    else:
        known[0] = dims[0] // groups * groups  # so that groups of filters, split and joined, have this size
        if groups == 1 or (channels.is_static and channels.value % groups == 0):
            known[1] = channels // groups
    return renamed(op, w, known, "kernel_shape, or the input's channels, and the filters", rewriter)


def group_count(op: onnx.OnnxOp, name: str = "group") -> int:
    """The number of groups that an attribute gives. Raises: StepwellError `invalid-model` below 1."""
    if (groups := op.integer(name)) < 1:
        raise StepwellError("invalid-model", op, f"{op.op_type}: {name} must be positive, found {groups}")
    return groups


def kernel_of(op: onnx.OnnxOp, w: SSAValue) -> tuple[int, ...]:
    """The kernel's shape. Raises: StepwellError `unsupported` when it is known at run time only."""
    dims = shape_of(w, op)[2:]
    if not all(dim.is_static for dim in dims):
        raise StepwellError(
            "unsupported",
            op,
            f"{op.op_type}: the kernel's shape must be known, found {w.type}",
            help=f"give the node a kernel_shape, or {on_open_size(op)}",
        )
    return tuple(dim.value for dim in dims)


def padded_input(
    x: SSAValue, windows: Windows, rewriter: PatternRewriter, fill: SSAValue | None = None
) -> tuple[SSAValue, list[int]]:
    """The input and the pads for the op: symbolic pads become a `graph.pad` before it."""
    if (pads := windows.static_pads) is not None:
        return x, pads
    rank = len(windows.kernel)
    none = [Dim.of(0), Dim.of(0)]
    outer = [*none, *windows.pads[:rank], *none, *windows.pads[rank:]]
    return rewriter.insert(graph.PadOp(x, outer, value=fill)).result, [0] * 2 * rank


class ConvLowering(OnnxLowering):
    """
    `onnx.Conv` → `graph.conv`, and `graph.bias_add` for its bias.

    ```mlir
    %y = "onnx.Conv"(%x, %w, %b) <{pads = array<i64: 1, 1>}> : (…) -> tensor<*xf32>
    // ->
    %0 = graph.conv %x, %w strides [1] dilations [1] pads [1, 1] … : (…) -> tensor<1x4x9xf32>
    %y = graph.bias_add %0, %b axis 1 : (tensor<1x4x9xf32>, tensor<4xf32>) -> tensor<1x4x9xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConvOp, rewriter: PatternRewriter) -> None:
        """Infer filters and windows, pad the input if pads are symbolic, then add the bias."""
        w = known_filters(op, op.X, op.W, rewriter)
        windows = windows_of(op, op.X, dims_of(w.type)[2:])
        x, pads = padded_input(op.X, windows, rewriter)
        conv = graph.ConvOp(
            x, w, strides=windows.strides, dilations=windows.dilations, pads=pads, groups=op.integer("group")
        )
        replace_with_bias(op, conv, op.B, rewriter)


def replace_with_bias(
    op: onnx.OnnxOp,
    made: graph.ConvOp | graph.ConvTransposeOp | graph.PadOp,
    bias: SSAValue | None,
    rewriter: PatternRewriter,
) -> None:
    """Replace an operator by a convolution, followed by the addition of a bias if there is one."""
    if bias is None:
        rewriter.replace(op, made)
    else:
        rewriter.replace(op, [made, graph.BiasAddOp(made.result, bias, 1)])


class ConvTransposeLowering(OnnxLowering):
    """
    `onnx.ConvTranspose` → `graph.conv_transpose`, and `graph.bias_add` for its bias.

    An `output_shape` or SAME_* gives the total padding of each axis: with SAME_UPPER the smaller half is at
    the low end, else the larger; a negative total means cells at the high end that only get the bias.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConvTransposeOp, rewriter: PatternRewriter) -> None:
        """Infer filters and pads; symbolic pads become a crop of the unpadded result."""
        w = known_filters(op, op.X, op.W, rewriter)
        rank = spatial_rank(op, op.X)
        strides = optional_integers(op, "strides") or (1,) * rank
        dilations = optional_integers(op, "dilations") or (1,) * rank
        extra = optional_integers(op, "output_padding") or (0,) * rank
        pads = self._pads(op, dims_of(w.type)[2:], strides, dilations, extra)
        known = all(dim.is_static for dim in (*pads, *dims_of(w.type)[2:]))
        conv = graph.ConvTransposeOp(
            op.X,
            w,
            strides=strides,
            dilations=dilations,
            pads=[pad.value for pad in pads] if known else [0] * 2 * rank,
            output_padding=extra,
            groups=op.integer("group"),
        )
        if known:
            replace_with_bias(op, conv, op.B, rewriter)
            return
        none = [Dim.of(0), Dim.of(0)]
        crops = [*none, *(-pad for pad in pads[:rank]), *none, *(-pad for pad in pads[rank:])]
        cropped = graph.PadOp(rewriter.insert(conv).result, crops)
        replace_with_bias(op, cropped, op.B, rewriter)

    def _pads(
        self,
        op: onnx.ConvTransposeOp,
        kernel: Sequence[Dim],
        strides: Sequence[int],
        dilations: Sequence[int],
        extra: Sequence[int],
    ) -> list[Dim]:
        """All begins, then all ends; expressions for an output shape over an input of unknown size."""
        sizes = shape_of(op.X, op)[2:]
        kind = op.string("auto_pad")
        shape = optional_integers(op, "output_shape")
        if shape is None and not kind.startswith("SAME"):
            given = optional_integers(op, "pads") if kind == "NOTSET" else None
            return [Dim.of(pad) for pad in given or (0,) * 2 * len(sizes)]
        begins: list[Dim] = []
        ends: list[Dim] = []
        for axis, size in enumerate(sizes):
            stride = strides[axis]
            out = size * stride if shape is None else Dim.of(shape[axis - len(sizes)])
            total = (size - 1) * stride + extra[axis] + dilated(kernel[axis], dilations[axis]) - out
            small, large = total // 2, total - total // 2
            begins.append((small if kind == "SAME_UPPER" else large).maximum(Dim.of(0)))
            ends.append(total - begins[-1])
        return [*begins, *ends]
