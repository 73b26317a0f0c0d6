"""Rules that write operators of torch as simpler ones, of those without a conversion."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from stepwell.frontend.torch.targets import kept
from stepwell.frontend.torch.tensors import torch_package

_WRITING = {"aten.complex.default", "aten.polar.default"}
"""Operators whose rules write into parts of a new tensor, which AOTAutograd refuses."""


def decompositions() -> Mapping[Any, Any]:
    """Torch's rules that write operators as simpler ones, but for those with a conversion of their own."""
    torch = torch_package()
    table = torch.export.default_decompositions()
    for name in kept():
        library, packet, overload = name.split(".")
        op = getattr(getattr(getattr(torch.ops, library), packet, None), overload, None)
        if op is not None:
            table.pop(op, None)
    return table


def training_decompositions() -> Mapping[Any, Any]:
    """Rules for all operators without a conversion, those of derivatives included."""
    rules = import_module("torch._decomp").decomposition_table
    known = kept()
    own = {op: rule for op, rule in rules.items() if str(op) not in known | _WRITING}
    return own | dict(decompositions()) | _fast_paths()


def _fast_paths() -> dict[Any, Any]:
    """The operators that modules of attention call in inference, which torch has no rules for."""
    aten = torch_package().ops.aten
    return {
        aten._transformer_encoder_layer_fwd.default: _encoder_layer,
        aten._native_multi_head_attention.default: _multi_head_attention,
    }


def _encoder_layer(
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *weights: Any,
) -> Any:
    """A layer of `nn.TransformerEncoder`: attention and two linear layers, each with a normalization."""
    norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, *linear = weights[:8]
    mask, mask_type = (*weights[8:], None, None)[:2]
    functional = torch_package().nn.functional

    def attended(x: Any) -> Any:
        return _attention(x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type)

    def widened(x: Any) -> Any:
        inner = functional.linear(x, linear[0], linear[1])
        inner = functional.gelu(inner) if use_gelu else functional.relu(inner)
        return functional.linear(inner, linear[2], linear[3])

    def first(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attended(first(src))
        return x + widened(second(x))
    x = first(src + attended(src))
    return second(x + widened(x))


def _multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """`nn.MultiheadAttention` of one tensor by itself; NotImplemented where its weights are results."""
    if need_weights or query is not key or key is not value:
        return NotImplemented
    result = _attention(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type)
    return result, query.new_empty(0)


def _attention(
    x: Any,
    heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any,
    mask_type: int | None,
) -> Any:
    """Attention of [batch, positions, features] by itself; a mask is true where keys are left out."""
    functional = torch_package().nn.functional
    batch, positions, features = x.shape
    rows = functional.linear(x, qkv_weight, qkv_bias).view(batch, positions, 3, heads, features // heads)
    q, k, v = rows.permute(2, 0, 3, 1, 4).unbind(0)
    if mask is not None:
        mask = mask.logical_not() if not mask.is_floating_point() else mask
        mask = mask.view(batch, 1, 1, positions) if mask_type == 1 else mask
    made = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return functional.linear(made.transpose(1, 2).reshape(batch, positions, features), proj_weight, proj_bias)
