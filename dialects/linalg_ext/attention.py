"""Attention on level 2: its forms, with blocks of queries, and of keys where the keys are many."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, FloatAttr, TensorType, UnitAttr, f32
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.costs.layouts import ATTENTION
from stepwell.dialects.graph.attention import AttentionOp as GraphAttentionOp
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.machine.target import F32_BYTES

LANES = 8
"""Queries of a block are rounded up to multiples of this."""
MOST_QUERIES, MOST_KEYS, MOST_GROUPS, MOST_LANES, MOST_CHAINS = 1024, 1 << 16, 64, 32, 16
"""The largest sizes of forms: they bound memory, and code, which is written out for each chain."""
MOST_SCORES = 1 << 26
"""The most scores of a block."""


@irdl_op_definition
class AttentionOp(FormsOp):
    """
    `graph.attention` into a tensor, all of whose elements it writes.

    ```mlir
    %y = linalg_ext.attention %q, %k, %v into %init mask %m scale 0.125 zero_masked
      {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 49}>}
      : (tensor<8x49x64xf32>, tensor<8x50x64xf32>, tensor<8x50x32xf32>, tensor<8x49x32xf32>,
         tensor<49x50xf32>) -> tensor<8x49x32xf32>
    ```
    Its schedule has a `form`:
    - `softmax`: all scores of a block of queries, their softmax, and the sums of values.
    - `online-softmax`: as much for one block of keys after the other, with the sums so far rescaled.

    With `pairs` the factors of both products are rounded to bf16 and packed in each block.

    Constraints:
      (C1) elements are f32; depth and columns are known.
      (C2) operands and mask are those of `graph.attention`.
      (C3) the result, of the type of `init`, is [batch..., queries, columns].
    """

    name = "linalg_ext.attention"
    GRAPH_OP: ClassVar = GraphAttentionOp
    UNITS: ClassVar = {"zero_masked": "zero_masked", "pairs": "pairs"}

    q = operand_def(TensorType)
    k = operand_def(TensorType)
    v = operand_def(TensorType)
    init = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)
    scale = prop_def(FloatAttr[Float32Type])
    zero_masked = opt_prop_def(UnitAttr)
    pairs = opt_prop_def(UnitAttr)

    assembly_format = (
        "$q `,` $k `,` $v `into` $init (`mask` $mask^)? `scale` $scale (`zero_masked` $zero_masked^)?"
        " (`pairs` $pairs^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        (*_, depth), (*_, columns) = dims_of(self.q.type), dims_of(self.v.type)
        is_f32 = all(element_of_value(value) == f32 for value in self.operands)
        if not is_f32 or not depth.is_static or not columns.is_static:  # (C1)
            raise VerifyException(f"rows must be f32 of known size, found {self.q.type} and {self.v.type}")
        super().verify_()

    @property
    def queries(self) -> Dim:
        """The number of queries of a batch entry."""
        return dims_of(self.result.type)[-2]

    @property
    def keys(self) -> Dim:
        """The number of keys of a batch entry."""
        return dims_of(self.k.type)[-2]

    @property
    def batch(self) -> Dim:
        """The number of batch entries."""
        return prod(dims_of(self.result.type)[:-2], start=Dim.of(1))

    def forms(self) -> Mapping[str, Form]:
        queries = _queries_of(self.batch, self.queries, self.keys)
        keys = ATTENTION.scores_bytes // (F32_BYTES * whole_vectors(queries)) // LANES * LANES
        most_keys = _most(MOST_KEYS, self.keys)
        refusal = None if self.keys.is_static else "form softmax needs a known number of keys"
        online = Form({**self._sizes(queries), "keys": Size(min(keys, most_keys), most_keys)})
        plain = Form(self._sizes(queries), refusal, self._too_many_scores)
        forms = {"softmax": plain, "online-softmax": online}
        # Keys come in blocks where the scores of all of them pass the cache.
        is_first = self.keys.is_static and self.keys.value <= keys
        return forms if is_first else dict(reversed(forms.items()))

    def _sizes(self, queries: int) -> dict[str, Size]:
        """The sizes that both forms have, by the queries in a block."""
        groups = ATTENTION.max_groups
        if (items := self.batch * self.queries.ceildiv(queries)).is_static:
            share = ceil(items.value / groups)
            groups = ceil(items.value / max(1, share))
        return {
            "queries": Size(queries, _most(MOST_QUERIES, self.queries)),
            "groups": Size(max(1, groups), MOST_GROUPS),
            "lanes": Size(ATTENTION.softmax_lanes, MOST_LANES, LANES),
            "chains": Size(ATTENTION.softmax_chains, MOST_CHAINS),
        }

    def _too_many_scores(self, sizes: Mapping[str, int]) -> str | None:
        scores = whole_vectors(sizes["queries"]) * self.keys.value
        if scores <= MOST_SCORES:
            return None
        return f"form softmax has at most {MOST_SCORES} scores a block, found {scores}: choose fewer queries"


def _queries_of(batch: Dim, queries: Dim, keys: Dim) -> int:
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

    return max(1, ceil(queries.value / min(range(fewest, finest + 1), key=cost)))


def _most(bound: int, extent: Dim) -> int:
    """The largest block along a dimension."""
    return max(1, min(bound, extent.value)) if extent.is_static else bound


def whole_vectors(queries: int) -> int:
    """A number of queries rounded up to whole vectors."""
    return ceil(queries / LANES) * LANES
