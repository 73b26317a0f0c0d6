"""
Patterns of `legalize` for attention as two products and a softmax, where no kernel computes it (`kernels`) or
always (`attention-parts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import f32
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.tensor_ir.gpu_modules import gpu_of
from stepwell.dialects.types import dims_of, dtype_of
from stepwell.passes.graph.attention_kernel import are_many, has_kernel
from stepwell.passes.graph.legalize.legalizations import legalization
from stepwell.passes.graph.norm_parts import Parts
from stepwell.passes.graph.swapped import swapped
from stepwell.runtime.files.weights import WeightStore


@legalization("kernels")
@dataclass
class ExpandAttention(RewritePattern):
    """
    Expand attention to two products with a softmax between them, in f32 for narrower floats.

    ```mlir
    %y = graph.attention %q, %k, %v mask %m : tensor<4xf32> scale 0.5
      : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    // ->
    %0 = graph.matmul %q, %k transpose_b true : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
    %1 = graph.constant dense<0.5> : tensor<f32>
    %2 = graph.multiply %0, %1 : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = graph.add %2, %m : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %4 = graph.softmax %3 axis 1 : tensor<2x4xf32> -> tensor<2x4xf32>
    %y = graph.matmul %4, %v : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    ```
    On a GPU (`sched.target` of the module) the kernel is one grid, for keys and values of up to 128 elements.
    For several queries a copy transposes the keys, since a product's vectors are along the columns of its
    result; the copy merges with the transpose that splits heads (8 heads of 20x8x20: 3.4 to 1.4 us).

    ```mlir
    %y = graph.attention %q, %k, %v scale 0.5
      : (tensor<8x3xf32>, tensor<8x3xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    // ->
    %0 = graph.transpose %k perm [1, 0] : tensor<8x3xf32> -> tensor<3x8xf32>
    %1 = graph.matmul %q, %0 : (tensor<8x3xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
    %2 = graph.constant dense<0.5> : tensor<f32>
    %3 = graph.multiply %1, %2 : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %4 = graph.softmax %3 axis 1 : tensor<8x8xf32> -> tensor<8x8xf32>
    %y = graph.matmul %4, %v : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        depth, columns = dims_of(op.q.type)[-1], dims_of(op.v.type)[-1]
        exists = has_kernel(element_of_value(op.q), op.scores_dims(), depth, columns)
        if not exists or not _fits_device(op):
            self.expand(op, rewriter)

    def expand(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        """Replace attention by its parts."""
        element, scores = element_of_value(op.q), op.scores_dims()
        parts = Parts(rewriter, self.weights)
        wide = f32 if dtype_of(element).itemsize < dtype_of(f32).itemsize else element
        # A few queries, such as a decoder's one, read the keys once: a copy would be a pass over the cache.
        in_place = not are_many(scores[-2])
        keys = op.k if in_place else swapped(op.k, rewriter)
        q, k, v = (parts.cast(value, wide) for value in (op.q, keys, op.v))
        score = rewriter.insert(graph.MatmulOp(q, k, transpose_b=in_place)).result
        score = parts.multiply(score, parts.scalar(op.scale.value.data, score))
        if op.mask is not None:
            score = parts.add(score, parts.cast(op.mask, wide))
        weights = rewriter.insert(graph.SoftmaxOp(score, len(scores) - 1)).result
        if op.zero_masked:
            top = parts.reduce(score, "max", [len(scores) - 1])
            is_masked = rewriter.insert(graph.EqualOp(top, parts.scalar(-inf, top))).result
            weights = rewriter.insert(graph.WhereOp(is_masked, parts.scalar(0, weights), weights)).result
        result = rewriter.insert(graph.MatmulOp(weights, v)).result
        rewriter.replace(op, [], [parts.cast(result, element)])


@legalization("attention-parts")
@dataclass
class ExpandEachAttention(ExpandAttention):
    """
    Expand any attention to two products with a softmax between them, for targets without kernels of it.

    ```mlir
    %y = graph.attention %q, %k, %v scale 0.5
      : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    // ->
    %0 = graph.matmul %q, %k transpose_b true : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
    %1 = graph.constant dense<0.5> : tensor<f32>
    %2 = graph.multiply %0, %1 : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %3 = graph.softmax %2 axis 1 : tensor<2x4xf32> -> tensor<2x4xf32>
    %y = graph.matmul %3, %v : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        self.expand(op, rewriter)


def _fits_device(op: graph.AttentionOp) -> bool:
    """Whether attention keeps its op: the target is no GPU, or computes attention by a grid."""
    if (target := gpu_of(op)) is None:
        return True
    from stepwell.dialects.gpu.limits import fits_attention
    from stepwell.dialects.linalg_ext.grids import takes_rows

    depth, columns = dims_of(op.q.type)[-1], dims_of(op.v.type)[-1]
    return not op.pairs.value.data and takes_rows(depth.value, columns.value) and fits_attention(target)
