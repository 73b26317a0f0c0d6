"""`combine-parallel`: contractions of the same input become one, on concatenated weights."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.base import GraphOp
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count
from stepwell.passes.graph.inference.branches import FAMILIES, Branches, family_of, sibling_key
from stepwell.patterns.groups import blocks_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


@dataclass(frozen=True)
class CombineParallelPass(FunctionPass):
    """
    Merge convolutions or products of one input that differ in their weights and channels only.

    The same elementwise ops and biases after all of them are merged too, with their other operands
    concatenated; a slice of the result replaces each branch. Contractions whose weights are computed after
    the first of them are not merged. Codes of quantized weights are concatenated as codes, if they have one
    format.

    ```mlir
    %a = graph.matmul %x, %u : (tensor<5x2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    %b = graph.matmul %x, %v : (tensor<5x2xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
    %c = graph.matmul %x, %w : (tensor<5x2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    // ->
    %0 = graph.concat %u, %v, %w axis 1
      : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x10xf32>
    %1 = graph.matmul %x, %0 : (tensor<5x2xf32>, tensor<2x10xf32>) -> tensor<5x10xf32>
    %a = graph.slice %1 starts <[0, 0]> limits <[5, 3]> steps [1, 1] : tensor<5x10xf32> -> tensor<5x3xf32>
    %b = graph.slice %1 starts <[0, 3]> limits <[5, 7]> steps [1, 1] : tensor<5x10xf32> -> tensor<5x4xf32>
    %c = graph.slice %1 starts <[0, 7]> limits <[5, 10]> steps [1, 1] : tensor<5x10xf32> -> tensor<5x3xf32>
    ```
    Class: rounding (sums may be taken in another order).
    Source: TVM's CombineParallelConv2D, CombineParallelDense, CombineParallelBatchMatmul.
    """

    name = "combine-parallel"
    opt_level = 1
    numerics = Numerics.ROUNDING

    op: tuple[str, ...] = FAMILIES
    """
    The kinds of contractions to merge: `conv`, `matmul` (by a matrix), `batch_matmul`, `quantized_matmul` (by
    constant codes, with scales for each column).
    """
    min_branches: int = 3
    """The fewest contractions of one input to merge, at least 2."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if unknown := [name for name in self.op if name not in FAMILIES]:
            raise StepwellError(
                "bad-option",
                None,
                f"combine-parallel knows no {', '.join(unknown)}",
                help=f"op is one of {', '.join(FAMILIES)}, or several",
            )
        for block in list(blocks_of(func)):
            self._combine(block, weights_of(ctx))

    def _combine(self, block: Block, weights: WeightStore) -> None:
        positions: dict[Operation, float] = {}
        siblings: dict[Hashable, list[GraphOp]] = {}
        for position, op in enumerate(block.ops):
            positions[op] = position
            if isinstance(op, GraphOp) and family_of(op) in self.op:
                siblings.setdefault(sibling_key(op), []).append(op)
        for ops in siblings.values():
            branches = Branches.of(ops, positions, weights, max(self.min_branches, 2))
            if branches is None:
                continue
            branches.join()
            count("combined", len(ops))
            # New ops are placed before the first sibling, and after all values that it may read.
            positions |= dict.fromkeys(branches.made, positions[ops[0]] - 0.5)
