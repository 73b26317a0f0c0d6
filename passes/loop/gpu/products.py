"""Products of two operands, with the role of each loop: batch, rows, columns, sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Block

from stepwell.dialects.tensor_ir.structured import map_dims, projected_permutation
from stepwell.passes.loop.gpu.nests import Nest, has_whole_bytes, is_buffer


@dataclass(frozen=True, eq=False)
class Product:
    """
    A reduction over two operands, with blocks of rows of the one by columns of the other.

    Convolutions are products, too: the rows are channels, the columns are positions, and the sums are over a
    window. Loops of a role are numbered together, the last one fastest.
    """

    nest: Nest
    left: int
    """The operand with the rows."""
    right: int
    """The operand with the columns, among them the last dimension of the output."""
    batch: tuple[int, ...]
    """Loops of both operands."""
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    sums: tuple[int, ...]

    @property
    def roles(self) -> tuple[tuple[int, ...], ...]:
        """The loops of rows, columns and sums."""
        return self.rows, self.columns, self.sums

    def sizes(self) -> tuple[int | None, ...]:
        """The rows, columns and sums; None where a loop's extent is not known."""
        return tuple(_total([self.nest.extents[loop] for loop in loops]) for loops in self.roles)

    def batches(self) -> int | None:
        """The products that are computed independently; None where the number is not known."""
        return _total([self.nest.extents[loop] for loop in self.batch])

    @property
    def is_multiply_add(self) -> bool:
        """Whether the body adds a product of both operands."""
        return is_multiply_add(self.nest.op.body.block)

    @property
    def adds_up(self) -> bool:
        """Whether the body adds a number of f32 to a sum, which no other op of it reads."""
        body = self.nest.op.body.block
        *_, last, end = body.ops
        total = body.args[-1]
        return (
            isinstance(last, arith.AddfOp)
            and isinstance(total.type, Float32Type)
            and total in last.operands
            and len([*total.uses]) == 1
            and list(end.operands) == [last.result]
        )


def product_of_nest(nest: Nest) -> Product | None:
    """The roles of the loops of an op; None when it is no product of two buffers with rows and columns."""
    if len(nest.inputs) != 2 or len(nest.outputs) != 1 or not nest.has_extents():
        return None
    if any(not is_buffer(value) or not has_whole_bytes(value) for value in nest.op.operands):
        return None
    if any(isinstance(op, IndexOp) or op.regions for op in nest.op.body.block.ops):
        return None
    sums = tuple(loop for loop, is_parallel in enumerate(nest.parallel) if not is_parallel)
    output = projected_permutation(nest.maps[2])
    if not sums or output is None or set(output) != {loop for loop, p in enumerate(nest.parallel) if p}:
        return None
    first, second = (map_dims(map) for map in nest.maps[:2])
    if (first | second) < set(range(len(nest.parallel))):
        return None
    batch, in_first, in_second = first & second, first - second, second - first
    left, right = (1, 0) if output and output[-1] in in_first else (0, 1)
    rows, columns = (in_second, in_first) if left else (in_first, in_second)

    def of(loops: set[int]) -> tuple[int, ...]:
        return tuple(loop for loop in output if loop in loops)

    if not of(rows) or not of(columns):
        return None
    return Product(nest, left, right, of(batch), of(rows), of(columns), sums)


def is_multiply_add(body: Block) -> bool:
    """Whether a body of two inputs and a sum adds the product of the inputs, in f32."""
    ops = list(body.ops)
    if len(ops) != 3 or not isinstance(ops[0], arith.MulfOp) or not isinstance(ops[1], arith.AddfOp):
        return False
    a, b, total = body.args
    return (
        isinstance(total.type, Float32Type)
        and {ops[0].lhs, ops[0].rhs} == {a, b}
        and {ops[1].lhs, ops[1].rhs} == {ops[0].result, total}
    )


def _total(extents: Sequence[int | None]) -> int | None:
    total = 1
    for extent in extents:
        if extent is None:
            return None
        total *= extent
    return total
