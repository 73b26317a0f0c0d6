"""Convolutions of ONNX → `graph.conv`, `graph.conv_transpose` and `graph.bias_add`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.lowering.onnx_to_graph.windows import Windows, optional_integers, spatial_rank, windows_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def kernel_of(op: onnx.OnnxOp, w: SSAValue) -> tuple[int, ...]:
    """
    The kernel's shape, from the filters.

    Raises: StepwellError `unsupported` when it is known at run time only, `invalid-model` when `kernel_shape`
    says something else.
    """
    dims = shape_of(w, op)[2:]
    if not all(dim.is_static for dim in dims):
        raise StepwellError(
            "unsupported", op, f"{op.op_type}: the kernel's shape must be known, found {w.type}"
        )
    kernel = tuple(dim.value for dim in dims)
    given = optional_integers(op, "kernel_shape")
    if given is not None and given != kernel:
        raise StepwellError(
            "invalid-model", op, f"{op.op_type}: kernel_shape is {list(given)}, the filters are {w.type}"
        )
    return kernel


def padded_input(
    x: SSAValue, windows: Windows, rewriter: PatternRewriter, border: SSAValue | None = None
) -> tuple[SSAValue, list[int]]:
    """The input and the pads that are left for the op: expressions become a `graph.pad` with a number."""
    if (pads := windows.static_pads) is not None:
        return x, pads
    rank = len(windows.kernel)
    none = [Dim.of(0), Dim.of(0)]
    outer = [*none, *windows.pads[:rank], *none, *windows.pads[rank:]]
    return rewriter.insert(graph.PadOp(x, outer, value=border)).result, [0] * 2 * rank


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
        windows = windows_of(op, op.X, kernel_of(op, op.W))
        x, pads = padded_input(op.X, windows, rewriter)
        conv = graph.ConvOp(
            x,
            op.W,
            strides=windows.strides,
            dilations=windows.dilations,
            pads=pads,
            groups=op.integer("group"),
        )
        replace_with_bias(op, conv, op.B, rewriter)


def replace_with_bias(
    op: onnx.OnnxOp,
    made: graph.ConvOp | graph.ConvTransposeOp,
    bias: SSAValue | None,
    rewriter: PatternRewriter,
) -> None:
    """Replace an operator by a convolution and, when it has one, its bias."""
    if bias is None:
        rewriter.replace(op, made)
    else:
        rewriter.replace(op, [made, graph.BiasAddOp(made.result, bias, 1)])


class ConvTransposeLowering(OnnxLowering):
    """
    `onnx.ConvTranspose` → `graph.conv_transpose`, and `graph.bias_add` for its bias.

    An `output_shape` or SAME_* gives the total padding of each axis: SAME_UPPER puts its smaller half first,
    all others the larger; a negative total is cells that only get the bias, at the high end.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConvTransposeOp, rewriter: PatternRewriter) -> None:
        kernel = kernel_of(op, op.W)
        rank = spatial_rank(op, op.X)
        strides = optional_integers(op, "strides") or (1,) * rank
        dilations = optional_integers(op, "dilations") or (1,) * rank
        extra = optional_integers(op, "output_padding") or (0,) * rank
        conv = graph.ConvTransposeOp(
            op.X,
            op.W,
            strides=strides,
            dilations=dilations,
            pads=self._pads(op, kernel, strides, dilations, extra),
            output_padding=extra,
            groups=op.integer("group"),
        )
        replace_with_bias(op, conv, op.B, rewriter)

    def _pads(
        self,
        op: onnx.ConvTransposeOp,
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
        extra: Sequence[int],
    ) -> list[int]:
        sizes = shape_of(op.X, op)[2:]
        kind = op.string("auto_pad")
        shape = optional_integers(op, "output_shape")
        if shape is None and not kind.startswith("SAME"):
            given = optional_integers(op, "pads") if kind == "NOTSET" else None
            return list(given or (0,) * 2 * len(sizes))
        begins: list[int] = []
        ends: list[int] = []
        for axis, size in enumerate(sizes):
            stride = strides[axis]
            out = size * stride if shape is None else Dim.of(shape[axis - len(sizes)])
            span = dilations[axis] * (kernel[axis] - 1) + 1
            total = (size - 1) * stride + extra[axis] + span - out
            if not total.is_static:
                raise StepwellError(
                    "unsupported",
                    op,
                    f"ConvTranspose: output_shape {list(shape or ())} for an input of unknown size {size}",
                    help="give the model's inputs fixed shapes, for example with --input-shape",
                )
            small, large = total.value // 2, total.value - total.value // 2
            first = small if kind == "SAME_UPPER" else large
            begins.append(max(0, first) if total.value >= 0 else 0)
            ends.append(total.value - begins[-1])
        return [*begins, *ends]


PATTERNS: list[type[OnnxLowering]] = [ConvLowering, ConvTransposeLowering]
