"""The rule of `raise-to-row-ops` that recognizes attention in products and a softmax, where a kernel pays."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.attention_kernel import has_kernel
from stepwell.passes.graph.constant_operands import any_number, is_closed, number, scalar_of
from stepwell.passes.graph.swapped import swapped
from stepwell.patterns import Rule, is_op, wildcard
from stepwell.patterns.rewriting import NodeMap
from stepwell.runtime.dims import Dim

_matmul, _softmax = is_op("graph.matmul"), is_op("graph.softmax")
_multiply, _divide, _add = is_op("graph.multiply"), is_op("graph.divide"), is_op("graph.add")


def raise_attention() -> Rule:
    """
    Replace softmax(q kᵀ * scale + mask) v by attention; constant factors of q and of k join the scale.

    ```mlir
    %c = graph.constant dense<0.125> : tensor<f32>
    %t = graph.transpose %k perm [0, 2, 1] : tensor<2x40x64xf32> -> tensor<2x64x40xf32>
    %a = graph.matmul %q, %t : (tensor<2x16x64xf32>, tensor<2x64x40xf32>) -> tensor<2x16x40xf32>
    %b = graph.multiply %a, %c : (tensor<2x16x40xf32>, tensor<f32>) -> tensor<2x16x40xf32>
    %d = graph.add %b, %m : (tensor<2x16x40xf32>, tensor<40xf32>) -> tensor<2x16x40xf32>
    %e = graph.softmax %d axis 2 : tensor<2x16x40xf32> -> tensor<2x16x40xf32>
    %y = graph.matmul %e, %v : (tensor<2x16x40xf32>, tensor<2x40x64xf32>) -> tensor<2x16x64xf32>
    // ->
    %y = graph.attention %q, %k, %v mask %m : tensor<40xf32> scale 0.125
      : (tensor<2x16x64xf32>, tensor<2x40x64xf32>, tensor<2x40x64xf32>) -> tensor<2x16x64xf32>
    ```
    A softmax whose rows are replaced by zeros where the whole row of the mask is -inf, as ONNX defines it,
    becomes `zero_masked`. Declined: scores with other uses, and shapes that `has_kernel` declines.
    """
    q, k, v, mask, factor = wildcard(), wildcard(), wildcard(), wildcard(), any_number()
    product = _matmul(q, k)
    scaled = product | _multiply(product, factor) | _divide(product, factor)
    scores = scaled | _add(scaled, mask)
    weights = _softmax(scores)
    top = is_op("graph.reduce").has_attr({"kind": "max", "keep_dims": True})(mask)
    is_masked = is_op("graph.equal")(top, number(-inf))
    guarded = is_op("graph.where")(is_masked, number(0), weights)
    result = _matmul(weights | guarded, v)

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (inner,), (score,), (weight,) = nodes[product], nodes[scores], nodes[weights]
        (query,), (key,), (value,) = nodes[q], nodes[k], nodes[v]
        bias = nodes[mask][0] if isinstance(score.owner, graph.AddOp) else None
        leaves = [query, key, value, *(nodes[n][0] for n in (mask, is_masked) if n in nodes)]
        if guarded in nodes and (bias is None or not _takes_last_axis(nodes[top][0])):
            return post
        if factor in nodes and not scalar_of(nodes[factor][0]):
            return post  # a division by 0 has no scale
        if not _is_plain(post) or not _takes_last_axis(weight) or not _keeps_shape(inner, score, post, bias):
            return post
        depth, columns = dims_of(query.type)[-1], dims_of(value.type)[-1]
        pays = has_kernel(element_of_value(inner), dims_of(inner.type), depth, columns)
        if not pays or not is_closed(post, leaves):
            return post
        outer = _factor(nodes[scaled][0], inner)
        query, of_query = _without_factors(query)
        key, of_key = _keys(inner, key, rewriter)
        if bias is not None and _is_zero(bias):
            bias = None
        made = graph.AttentionOp(
            query,
            key,
            value,
            bias,
            scale=outer * of_query * of_key,
            zero_masked=bias is not None and guarded in nodes,
        )
        return rewriter.insert(made).result

    return Rule(result, replace, require_type=True, name="raise attention")


def _keeps_shape(product: SSAValue, score: SSAValue, result: SSAValue, mask: SSAValue | None) -> bool:
    """Whether product, masked scores and result agree in batch and row dimensions, and all is plain."""
    dims = dims_of(product.type)
    are_scores = dims_of(score.type) == dims and dims_of(result.type)[:-1] == dims[:-1]
    return are_scores and _is_plain(product, may_transpose=True) and (mask is None or _broadcasts(mask, dims))


def _is_plain(value: SSAValue, *, may_transpose: bool = False) -> bool:
    """Whether a product has no transposed, packed or vector operand; `may_transpose` allows `transpose_b`."""
    op = value.owner
    assert isinstance(op, graph.MatmulOp)
    is_transposed = op.transpose_a.value.data or (op.transpose_b.value.data and not may_transpose)
    ranks = [len(dims_of(operand.type)) for operand in op.operands]
    return not is_transposed and not op.panel and op.out_type is None and min(ranks) >= 2


def _takes_last_axis(value: SSAValue) -> bool:
    """Whether a softmax or reduction is along the last axis only, and that axis is not of size 1."""
    op = value.owner
    assert isinstance(op, graph.SoftmaxOp | graph.ReduceOp)
    dims = dims_of(op.input.type)
    axes = [op.axis.value.data] if isinstance(op, graph.SoftmaxOp) else list(op.axes.get_values())
    return axes == [len(dims) - 1] and dims[-1] != 1


def _broadcasts(mask: SSAValue, scores: Sequence[Dim]) -> bool:
    """Whether a mask is of f32 and provably broadcasts to the shape of the scores."""
    own = dims_of(mask.type)
    pairs = zip(own[::-1], scores[::-1], strict=False)
    fits = len(own) <= len(scores) and all(a == 1 or a.proves_equal(b) for a, b in pairs)
    return fits and element_of_value(mask) == f32


def _is_zero(mask: SSAValue) -> bool:
    """Whether a mask is a constant 0, also one that `graph.full` broadcasts."""
    filled = mask.owner.input if isinstance(mask.owner, graph.FullOp) else mask
    return scalar_of(filled) == 0


def _factor(value: SSAValue, of: SSAValue) -> float:
    """The constant by which a multiply or divide scales `of` to make `value`; 1 for the same value."""
    if value is of:
        return 1
    op = value.owner
    assert isinstance(op, graph.MultiplyOp | graph.DivideOp)
    factor = scalar_of(op.rhs if op.lhs is of else op.lhs)
    assert factor is not None
    return factor if isinstance(op, graph.MultiplyOp) else 1 / factor


def _without_factors(value: SSAValue) -> tuple[SSAValue, float]:
    """The source of a chain of multiplications and divisions by constants, and their total factor."""
    total = 1.0
    while isinstance(op := value.owner, graph.MultiplyOp | graph.DivideOp):
        is_quotient = isinstance(op, graph.DivideOp)
        pairs = [(op.lhs, op.rhs)] if is_quotient else [(op.lhs, op.rhs), (op.rhs, op.lhs)]
        sources = [source for source, other in pairs if scalar_of(other) and source.type == value.type]
        if not sources:
            break
        total *= _factor(value, sources[0])
        value = sources[0]
    return value, total


def _keys(product: SSAValue, value: SSAValue, rewriter: PatternRewriter) -> tuple[SSAValue, float]:
    """The keys [..., keys, depth] of a product q kᵀ, without constant factors, and those factors' product."""
    op = product.owner
    assert isinstance(op, graph.MatmulOp)
    value, outside = _without_factors(value)
    if not op.transpose_b.value.data:
        value = swapped(value, rewriter)
    value, inside = _without_factors(value)
    return value, outside * inside
