"""Block sizes of `graph.attention`: blocks of queries, and blocks of keys where the keys are many."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from xdsl.dialects.builtin import f32

from stepwell.dialects import graph
from stepwell.dialects.costs.layouts import ATTENTION
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of
from stepwell.lowering.graph_to_linalg.vectors.lane_softmax import LANES
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import F32_BYTES


@dataclass(frozen=True)
class AttentionTiling:
    """The sizes of an attention op, and the sizes of its blocks of queries and keys."""

    batch: tuple[Dim, ...]
    queries: Dim
    keys: Dim
    depth: int
    columns: int
    block: int
    """Number of queries in a block."""

    @staticmethod
    def of(op: graph.AttentionOp) -> AttentionTiling:
        """
        The sizes and blocks of an op.

        Raises: StepwellError `unsupported` for types other than f32 and rows of open size.
        """
        *batch, queries, keys = op.scores_dims()
        depth, columns = dims_of(op.q.type)[-1], dims_of(op.v.type)[-1]
        if element_of_value(op.q) != f32 or not depth.is_static or not columns.is_static:
            raise StepwellError(
                "unsupported",
                op,
                f"a kernel of graph.attention needs f32 rows of known size, found {op.q.type}, {op.v.type}",
                help="run `legalize{set=kernels}` before",
            )
        block = _block_of(prod(batch, start=Dim.of(1)), queries, keys)
        return AttentionTiling(tuple(batch), queries, keys, depth.value, columns.value, block)

    @property
    def lanes(self) -> int:
        """The queries of a block, rounded up to whole vectors."""
        return whole_vectors(self.block)

    @property
    def key_block(self) -> int | None:
        """The number of keys in a block; None where the scores of all keys fit the cache."""
        fitting = ATTENTION.scores_bytes // (F32_BYTES * self.lanes) // LANES * LANES
        return None if self.keys.is_static and self.keys.value <= fitting else fitting

    @property
    def blocks(self) -> Dim:
        """The number of blocks of queries in a batch entry."""
        return self.queries.ceildiv(self.block)

    @property
    def items(self) -> Dim:
        """The number of blocks in all batches together."""
        return prod(self.batch, start=Dim.of(1)) * self.blocks

    @property
    def share(self) -> Dim:
        """The number of blocks in a group."""
        return self.items.ceildiv(ATTENTION.max_groups)

    @property
    def groups(self) -> int:
        """The number of groups; the last ones may be empty where the number of blocks is open."""
        if not self.items.is_static:
            return ATTENTION.max_groups
        return ceil(self.items.value / max(1, self.share.value))


def _block_of(batch: Dim, queries: Dim, keys: Dim) -> int:
    """The queries of a block whose scores fit the cache and which wastes few lanes."""
    most = ATTENTION.most_queries
    if keys.is_static:
        fitting = ATTENTION.scores_bytes // (F32_BYTES * max(1, keys.value)) // LANES * LANES
        if fitting >= ATTENTION.least_queries:  # else keys come in blocks
            most = min(most, fitting)
    if not queries.is_static:
        return ATTENTION.least_queries
    fewest, finest = (max(1, ceil(queries.value / n)) for n in (most, ATTENTION.least_queries))

    def cost(blocks: int) -> tuple[bool, int]:
        block = ceil(queries.value / blocks)
        is_idle = batch.is_static and batch.value * blocks < ATTENTION.enough_items
        # Scores cost whole vectors, sums of values only the queries themselves.
        return is_idle, blocks * (whole_vectors(block) + block)

    return ceil(queries.value / min(range(fewest, finest + 1), key=cost))


def whole_vectors(queries: int) -> int:
    """A number of queries rounded up to whole vectors."""
    return ceil(queries / LANES) * LANES
