"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64

from stepwell.dialects import graph
from stepwell.dialects.types import tensor_of
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.support import Call, converts


def _batch_norm(call: Call) -> Value:
    """(x - mean) / sqrt(variance + eps), scaled for each channel, with recorded statistics."""
    x, mean, variance = call.tensor("input"), call.optional("running_mean"), call.optional("running_var")
    if x.rank == 1 and x.dims[0] == 0:
        return x
    _expect_channels(call, x)
    if _uses_batch(call) or mean is None or variance is None:
        if mean is not None and not call.flag("use_input_stats"):
            help = "call .eval() on the module before it is exported"
            raise call.unsupported("batch normalization that records the statistics of the batch", help)
        return _by_batch(call)[0]
    scale, bias = call.optional("weight"), call.optional("bias")
    op = graph.BatchNormOp(
        x.ssa,
        mean.ssa,
        variance.ssa,
        None if scale is None else scale.ssa,
        None if bias is None else bias.ssa,
        eps=call.number("eps"),
    )
    return call.at.op(op)


def _expect_channels(call: Call, x: Value) -> None:
    """Require a dimension of channels. Raises: StepwellError `unsupported`."""
    if x.rank < 2:
        message = f"the input must have rank 2 or more, [batch, channels, ...], found rank {x.rank}"
        raise call.unsupported(message, help="x.unsqueeze(0) adds the dimension of the batch")


def _uses_batch(call: Call) -> bool:
    return call.flag("training") or call.flag("use_input_stats")


def _by_batch(call: Call) -> tuple[Value, Value, Value]:
    """Normalization by the mean and the variance of the batch; returns mean and inverse deviation too."""
    x, scale, bias = call.tensor("input"), call.optional("weight"), call.optional("bias")
    _expect_channels(call, x)
    wide = x.cast(f64 if x.element == f64 else f32)
    axes, shape = [0, *range(2, x.rank)], [1, x.dims[1], *[1] * (x.rank - 2)]
    mean = wide.reduce("mean", axes, keep_dims=True)
    centred = wide - mean
    variance = (centred * centred).reduce("mean", axes, keep_dims=True)
    inverse = (variance + call.number("eps")).apply(graph.RsqrtOp)
    result = centred * inverse
    if scale is not None:
        result = result * scale.cast(wide.element).reshape(shape)
    if bias is not None:
        result = result + bias.cast(wide.element).reshape(shape)
    return result.cast(x.element), mean.reshape([x.dims[1]]), inverse.reshape([x.dims[1]])


@converts("batch_norm.default")
def batch_norm(call: Call) -> Value:
    """Batch normalization in inference."""
    return _batch_norm(call)


@converts("_native_batch_norm_legit.no_stats")
def batch_norm_by_batch(call: Call) -> tuple[Value, ...]:
    """Batch normalization by the batch itself."""
    if not call.flag("training"):
        raise call.unsupported("batch normalization in inference without recorded statistics")
    return _by_batch(call)


@converts("_native_batch_norm_legit_no_training.default", "native_batch_norm.default")
@converts("_native_batch_norm_legit.default")
def native_batch_norm(call: Call) -> list[Value | None]:
    """Batch normalization in inference, and statistics that are empty then."""
    return [_batch_norm(call), None, None]


@converts("layer_norm.default")
def layer_norm(call: Call) -> Value:
    """Normalization over the last dimensions."""
    x, scale, bias = call.tensor("input"), call.optional("weight"), call.optional("bias")
    return call.at.op(
        graph.LayerNormOp(
            x.ssa,
            None if scale is None else scale.ssa,
            None if bias is None else bias.ssa,
            axis=x.rank - len(call.sizes("normalized_shape")),
            eps=call.number("eps"),
            compute_type=f64 if x.element == f64 else f32,
        )
    )


@converts("native_layer_norm.default")
def native_layer_norm(call: Call) -> list[Value]:
    """Normalization over the last dimensions, with the mean and the inverse deviation of the rows."""
    x, scale, bias = call.tensor("input"), call.optional("weight"), call.optional("bias")
    results = call.insert(
        graph.LayerNormOp(
            x.ssa,
            None if scale is None else scale.ssa,
            None if bias is None else bias.ssa,
            axis=x.rank - len(call.sizes("normalized_shape")),
            eps=call.number("eps"),
            compute_type=f64 if x.element == f64 else f32,
            statistics=True,
        )
    )
    # Torch has statistics in the element type of the operand, which are computed in f32.
    types = [tensor_of(result).element_type for result in call.op.results]
    return [value.cast(element) for value, element in zip(results, types, strict=True)]


@converts("rms_norm.default")
def rms_norm(call: Call) -> Value:
    """Division by the root of the mean square over the last dimensions."""
    x, scale, eps = call.tensor("input"), call.optional("weight"), call.value("eps")
    return call.at.op(
        graph.RmsNormOp(
            x.ssa,
            None if scale is None else scale.ssa,
            axis=x.rank - len(call.sizes("normalized_shape")),
            eps=1.1920928955078125e-07 if eps is None else call.number("eps"),
            compute_type=f64 if x.element == f64 else f32,
        )
    )


@converts("group_norm.default")
def group_norm(call: Call) -> Value:
    """Normalization over groups of channels."""
    x, scale, bias = call.tensor("input"), call.optional("weight"), call.optional("bias")
    return _group_norm(call, x, scale, bias, call.integer("num_groups"))


def _group_norm(call: Call, x: Value, scale: Value | None, bias: Value | None, groups: int) -> Value:
    """Group normalization; feature maps without spatial axes get one."""
    dims = x.dims
    if x.rank == 2:
        x = x.unsqueeze(2)
    ones = call.at.full(1, [dims[1]], x.element) if scale is None else scale
    zeros = call.at.full(0, [dims[1]], x.element) if bias is None else bias
    op = graph.GroupNormOp(x.ssa, ones.ssa, zeros.ssa, groups=groups, eps=call.number("eps"))
    return call.at.op(op).reshape(dims)


@converts("native_group_norm.default")
def native_group_norm(call: Call) -> list[Value | None]:
    """Normalization over groups of channels; the mean and the inverse deviation where they are used."""
    x, scale, bias = call.tensor("input"), call.optional("weight"), call.optional("bias")
    groups = call.integer("group")
    result = _group_norm(call, x, scale, bias, groups)
    if not any(True for each in call.op.results[1:] for _ in each.uses):
        return [result, None, None]
    (batch, channels, cells) = (call.sizes(name)[0] for name in ("N", "C", "HxW"))
    wide = x.cast(f64 if x.element == f64 else f32)
    rows = wide.reshape([batch, groups, channels // groups * cells])
    mean = rows.reduce("mean", [2], keep_dims=True)
    variance = ((rows - mean) * (rows - mean)).reduce("mean", [2])
    inverse = (variance + call.number("eps")).apply(graph.RsqrtOp)
    element = call.result_element(1)
    return [result, mean.reshape([batch, groups]).cast(element), inverse.cast(element)]


@converts("instance_norm.default")
def instance_norm(call: Call) -> Value:
    """Normalization of each channel of each feature map, or with recorded statistics."""
    x, scale, bias = call.tensor("input"), call.optional("weight"), call.optional("bias")
    if not call.flag("use_input_stats"):
        return _batch_norm(call)
    ones = call.at.full(1, [x.dims[1]], x.element) if scale is None else scale
    zeros = call.at.full(0, [x.dims[1]], x.element) if bias is None else bias
    return call.at.op(graph.InstanceNormOp(x.ssa, ones.ssa, zeros.ssa, eps=call.number("eps")))


@converts("linalg_vector_norm.default")
def vector_norm(call: Call) -> Value:
    """The p-norm over some axes."""
    x, order = call.tensor().cast(call.element), float(call.number("ord"))
    return norm_of(x, order, call.axes(), keep_dims=call.flag("keepdim"))


def norm_of(x: Value, order: float, axes: Sequence[int], *, keep_dims: bool) -> Value:
    """The p-norm of a value over some axes."""
    if order == float("inf"):
        return abs(x).reduce("max", axes, keep_dims=keep_dims)
    if order == float("-inf"):
        return abs(x).reduce("min", axes, keep_dims=keep_dims)
    if order == 0:
        one = x.formula.number(1, x.element)
        return x.formula.where(x.equals(0), 0, one).reduce("sum", axes, keep_dims=keep_dims)
    if order == 1:
        return abs(x).reduce("sum", axes, keep_dims=keep_dims)
    if order == 2:
        return (x * x).reduce("sum", axes, keep_dims=keep_dims).apply(graph.SqrtOp)
    exponents = x.formula.number(order, x.element), x.formula.number(1 / order, x.element)
    power = x.formula.op(graph.PowerOp(abs(x).ssa, exponents[0].ssa))
    total = power.reduce("sum", axes, keep_dims=keep_dims)
    return x.formula.op(graph.PowerOp(total.ssa, exponents[1].ssa))
