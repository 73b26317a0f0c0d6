"""The common parts of both forms of trees: tables, rows of `x`, and leaves joined into the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import INDEX, Index, IRBuilder
from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.dialects.tensor_ir.gpu_modules import is_for_gpu
from stepwell.dialects.tensor_ir.reshapes import collapse
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write

ROOT, DEPTH, FIRST_CUT, END_OF_CUTS, FIRST_LEAF, TREE = range(6)
"""Columns of the table of trees, and their number."""
THRESHOLD, FEATURE, PAIR, LEAF, NODE = range(5)
"""Columns of the table of nodes, and their number; cuts have the first two."""
_JOINS = {"sum": arith.AddfOp, "min": arith.MinimumfOp, "max": arith.MaximumfOp}
_STARTS = {"sum": 0.0, "min": np.inf, "max": -np.inf}
MOST_TARGETS = 64
"""The most targets that are joined as one vector."""


def element(emit: IRBuilder, source: SSAValue, *at: Index) -> SSAValue:
    """An element of a tensor."""
    indices = [emit.materialize(index) for index in at]
    return emit.value(tensor.ExtractOp(source, indices, tensor_element(source)))


def inserted(emit: IRBuilder, scalar: SSAValue, into: SSAValue, *at: SSAValue) -> SSAValue:
    """A tensor with an element replaced."""
    return emit.value(tensor.InsertOp(scalar, into, at))


def index_at(emit: IRBuilder, source: SSAValue, *at: Index) -> SSAValue:
    """An integer of a tensor as an index."""
    return emit.value(arith.IndexCastOp(element(emit, source, *at), INDEX))


@dataclass(frozen=True)
class TreeLoops:
    """The operands of an ensemble, with flat views of its tables."""

    op: TreeEnsembleOp
    nodes: SSAValue
    trees: SSAValue
    rows: Index
    count: int
    """The number of trees."""
    columns: Index
    """The number of features."""
    most_targets: int
    """The most targets that are joined as one vector: a thread of a GPU has none."""

    @staticmethod
    def of(op: TreeEnsembleOp, emit: IRBuilder) -> TreeLoops:
        """The views of an op, made before it."""
        flat = [[0, 1]]
        rows, columns = (dim_size(emit, op.x, d) for d in (0, 1))
        nodes, trees = (collapse(emit, table, flat) for table in (op.nodes, op.trees))
        most = 1 if is_for_gpu(op) else MOST_TARGETS
        return TreeLoops(op, nodes, trees, rows, tensor_shape(op.trees)[0], columns, most)

    @property
    def number(self) -> AnyFloat:
        """The type of the elements of `x`."""
        return cast(AnyFloat, tensor_element(self.op.x))

    @property
    def bits(self) -> IntegerType:
        """The integers as wide as these."""
        return cast(IntegerType, tensor_element(self.op.nodes))

    @property
    def targets(self) -> int:
        """The number of columns of the result."""
        return tensor_shape(self.op.weights)[1]

    def start(self, emit: IRBuilder) -> SSAValue:
        """The result before any tree."""
        zero = emit.number(_STARTS[self.op.aggregate.data], tensor_element(self.op.init))
        if self.targets > 1:
            return emit.insert(FillOp([zero], [self.op.init])).res[0]

        # No vector: LLVM's pipeline, which walks on scalars need, is for code without any.
        def of_row(emit: IRBuilder, row: SSAValue, result: SSAValue) -> SSAValue:
            return inserted(emit, zero, result, row, emit.materialize(0))

        return emit.fold(0, self.rows, 1, self.op.init, of_row)

    def of_tree(self, emit: IRBuilder, tree: Index, column: int) -> SSAValue:
        """A number of the table of trees."""
        return index_at(emit, self.trees, emit.plus(emit.times(tree, TREE), column))

    def join(self, emit: IRBuilder, result: SSAValue, row: SSAValue, leaves: Sequence[SSAValue]) -> SSAValue:
        """The result with the weights of leaves joined to a row, in order."""
        for first in range(0, self.targets, self.most_targets):
            result = self._join_columns(emit, result, row, leaves, first)
        return result

    def _join_columns(
        self, emit: IRBuilder, result: SSAValue, row: SSAValue, leaves: Sequence[SSAValue], first: int
    ) -> SSAValue:
        """`join` for some columns: a single number is a scalar, others are a vector."""
        width, column = min(self.most_targets, self.targets - first), emit.materialize(first)
        is_scalar = 1 in (self.targets, self.most_targets)
        weights, op_type = self.op.weights, _JOINS[self.op.aggregate.data]
        type = vector_type(tensor_element(weights), (width,))

        def at(source: SSAValue, row: SSAValue) -> SSAValue:
            if is_scalar:
                return element(emit, source, row, column)
            return read(emit, source, [row, column], type, (1,))

        joined = at(result, row)
        for leaf in leaves:
            joined = emit.value(op_type(joined, at(weights, leaf)))
        if not is_scalar:
            return write(emit, joined, result, [row, column], (1,))
        return inserted(emit, joined, result, row, column)
