"""Attributes of ONNX's convolutions and pools: kernel, strides, dilations, and pads in three forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.types import DimLike
from stepwell.lowering.onnx_to_graph.support import rank_of, shape_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.window import dilated

MAX_SPATIAL_RANK = 5


@dataclass(frozen=True)
class Windows:
    """The windows of an operator, one number per spatial axis; a kernel may be known at run time only."""

    kernel: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[Dim, ...]
    """All begins, then all ends; expressions if SAME pads an axis of unknown size."""

    @property
    def static_pads(self) -> list[int] | None:
        """The pads as numbers; None when one of them is not known."""
        return [pad.value for pad in self.pads] if all(pad.is_static for pad in self.pads) else None


def optional_integers(op: onnx.OnnxOp, name: str) -> tuple[int, ...] | None:
    """An attribute of kind `ints`, None when it has no value."""
    return op.integers(name) if op.has(name) else None


def spatial_rank(op: onnx.OnnxOp, x: SSAValue) -> int:
    """
    The number of spatial axes of an input [N, C, spatial…].

    Raises: StepwellError `invalid-model` when it has none, `unsupported` when it has more than five.
    """
    rank = rank_of(x, op) - 2
    if rank < 1:
        raise StepwellError(
            "invalid-model",
            op,
            f"{op.op_type}: the input needs batch, channels and spatial axes, found {x.type}",
        )
    if rank > MAX_SPATIAL_RANK:
        raise StepwellError(
            "unsupported", op, f"{op.op_type}: at most {MAX_SPATIAL_RANK} spatial axes, found {rank}"
        )
    return rank


def windows_of(op: onnx.OnnxOp, x: SSAValue, kernel: Sequence[DimLike]) -> Windows:
    """
    The windows of an operator over the input `x`, with explicit pads for every `auto_pad`.

    Raises: StepwellError `invalid-model` for attributes of a wrong length.
    """
    rank = spatial_rank(op, x)
    strides = optional_integers(op, "strides") or (1,) * rank
    dilations = optional_integers(op, "dilations") or (1,) * rank
    for name, values, count in (
        ("kernel_shape", kernel, rank),
        ("strides", strides, rank),
        ("dilations", dilations, rank),
        ("pads", optional_integers(op, "pads") or (0,) * 2 * rank, 2 * rank),
    ):
        if len(values) != count:
            raise StepwellError(
                "invalid-model", op, f"{op.op_type}: {name} must have {count} numbers, found {len(values)}"
            )
    points = tuple(Dim.of(k) for k in kernel)
    pads = _pads(op, shape_of(x, op)[2:], points, strides, dilations)
    return Windows(points, strides, dilations, pads)


def _pads(
    op: onnx.OnnxOp,
    sizes: Sequence[Dim],
    kernel: Sequence[Dim],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[Dim, ...]:
    """The pads of all axes by `auto_pad`: all begins, then all ends."""
    match op.string("auto_pad"):
        case "NOTSET":
            pads = optional_integers(op, "pads") or (0,) * 2 * len(sizes)
            return tuple(Dim.of(pad) for pad in pads)
        case "VALID":
            return (Dim.of(0),) * 2 * len(sizes)
        case "SAME_UPPER" | "SAME_LOWER" as kind:
            totals = [
                _same_total(size, k, s, d)
                for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True)
            ]
            smaller = tuple(total // 2 for total in totals)
            larger = tuple(total - half for total, half in zip(totals, smaller, strict=True))
            return (*smaller, *larger) if kind == "SAME_UPPER" else (*larger, *smaller)
        case kind:
            raise StepwellError(
                "invalid-model",
                op,
                f"{op.op_type}: auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, found {kind}",
            )


def _same_total(size: Dim, kernel: Dim, stride: int, dilation: int) -> Dim:
    """The total padding of an axis for ⌈size / stride⌉ windows: max((out - 1)·stride + K - size, 0)."""
    span = dilated(kernel, dilation)
    if stride == 1:
        return span - 1
    return ((size.ceildiv(stride) - 1) * stride + span - size).maximum(0)
