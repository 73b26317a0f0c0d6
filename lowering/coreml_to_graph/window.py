"""Convolutions and pools, on feature maps with channels first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts, pairs
from stepwell.lowering.to_graph import Value, same_pad
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class Windows:
    """The windows of a call: strides and dilations for each spatial axis, all pads before and then after."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]


def _windows(call: Call, sizes: Sequence[Dim], kernel: Sequence[Dim]) -> Windows:
    """The windows over axes of some sizes."""
    count = len(sizes)
    strides = call.numbers("strides", count, 1)
    dilations = call.numbers("dilations", count, 1) if call.has("dilations") else [1] * count
    if count == 0 or min(*strides, *dilations) < 1:
        raise call.invalid(f"strides {strides} and dilations {dilations} must be positive")
    return Windows(strides, dilations, _pads(call, sizes, kernel, strides, dilations))


def _pads(
    call: Call, sizes: Sequence[Dim], kernel: Sequence[Dim], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """The pads by their kind: none, so many that the size stays or is divided, or numbers."""
    kind, count = call.text("pad_type"), len(sizes)
    if kind == "valid":
        return [0] * (2 * count)
    if kind == "custom":
        begins, ends = pairs(call.numbers("pad", 2 * count, 0))
        return begins + ends
    if kind not in ("same", "same_lower"):
        raise call.unsupported(f"the padding {kind!r}")
    totals = [same_pad(call, *each) for each in zip(sizes, kernel, strides, dilations, strict=True)]
    less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return less + more if kind == "same" else more + less


def _biased(call: Call, x: Value) -> Value:
    bias = call.optional("bias")
    return x if bias is None else call.at.op(graph.BiasAddOp(x.ssa, bias.ssa, 1))


def _expect_filters(call: Call, x: Value, weight: Value) -> None:
    if x.rank != weight.rank or x.rank < 3:
        raise call.invalid(f"the input has rank {x.rank}, the weight {weight.rank}")


@converts("conv")
def conv(call: Call) -> Value:
    """A convolution over one to three axes, in groups."""
    x, weight = call.tensor(), call.tensor("weight")
    _expect_filters(call, x, weight)
    windows = _windows(call, x.dims[2:], weight.dims[2:])
    op = graph.ConvOp(
        x.ssa,
        weight.ssa,
        strides=windows.strides,
        dilations=windows.dilations,
        pads=windows.pads,
        groups=call.integer("groups"),
    )
    return _biased(call, call.at.op(op))


@converts("conv_transpose")
def conv_transpose(call: Call) -> Value:
    """The transpose of a convolution, which crops its result by the pads."""
    x, weight = call.tensor(), call.tensor("weight")
    _expect_filters(call, x, weight)
    count = x.rank - 2
    strides, dilations = call.numbers("strides", count, 1), call.numbers("dilations", count, 1)
    spans = [(dim - 1) * step + 1 for dim, step in zip(weight.dims[2:], dilations, strict=True)]
    full = [(size - 1) * step + span for size, step, span in zip(x.dims[2:], strides, spans, strict=True)]
    pads, extra = _crops(call, x, full, strides, count)
    op = graph.ConvTransposeOp(
        x.ssa,
        weight.ssa,
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=extra,
        groups=call.integer("groups"),
    )
    return _biased(call, call.at.op(op))


def _crops(
    call: Call, x: Value, full: Sequence[Dim], strides: Sequence[int], count: int
) -> tuple[list[int], list[int]]:
    """The pads and the further cells at the end, which give the recorded or the implied sizes."""
    kind = call.text("pad_type")
    if kind in ("valid", "custom"):
        begins, ends = pairs(call.numbers("pad", 2 * count, 0) if kind == "custom" else [0] * (2 * count))
        if not (wanted := call.integers("output_shape")):
            return begins + ends, [0] * count
        sizes = [Dim.of(size) for size in wanted[-count:]]
        rest = [size - (cells - b - e) for size, cells, b, e in zip(sizes, full, begins, ends, strict=True)]
        if not all(each.is_static and each.value >= 0 for each in rest):
            raise call.unsupported(f"`output_shape` {list(wanted)}")
        return begins + ends, [each.value for each in rest]
    if kind != "same":
        raise call.unsupported(f"the padding {kind!r}")
    cut = [cells - size * step for cells, size, step in zip(full, x.dims[2:], strides, strict=True)]
    if not all(each.is_static for each in cut):
        raise call.unsupported("padding to the same size over an open one")
    totals = [max(each.value, 0) for each in cut]
    extra = [max(-each.value, 0) for each in cut]
    return [total // 2 for total in totals] + [total - total // 2 for total in totals], extra


@converts("avg_pool", "max_pool", "l2_pool")
def pool(call: Call) -> Value:
    """The mean, the maximum, or the root of the sum of squares, of windows."""
    x, name = call.tensor(), call.op.SIGNATURE.name
    count = x.rank - 2
    kernel = call.numbers("kernel_sizes", count, 1)
    if count < 1 or min(kernel) < 1:
        raise call.invalid(f"the windows {kernel} must be positive, and the input has rank {x.rank}")
    windows = _windows(call, x.dims[2:], list(map(Dim.of, kernel)))
    value = x * x if name == "l2_pool" else x
    op = graph.PoolOp(
        value.ssa,
        "max" if name == "max_pool" else "avg",
        kernel,
        strides=windows.strides,
        pads=windows.pads,
        ceil=call.flag("ceil_mode"),
        count_include_pad=name == "l2_pool"
        or (name == "avg_pool" and not call.flag("exclude_padding_from_average")),
    )
    pooled = call.at.op(op)
    if name != "l2_pool":
        return pooled
    cells = 1
    for size in kernel:
        cells *= size
    return (pooled * cells).apply(graph.SqrtOp)
