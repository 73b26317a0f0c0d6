"""Top-k and scans on level 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, TensorType, f32, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from stepwell.dialects.costs.kernels import SEARCHES
from stepwell.dialects.graph.ordering import TopKOp as GraphTopKOp
from stepwell.dialects.graph.reduction import ScanOp as GraphScanOp
from stepwell.dialects.graph.reduction import ScanProperties
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.types import dims_attr, dims_of, element_bytes
from stepwell.runtime.dims import Dim

MOST_RANKS, MOST_COMPARED, MOST_COLUMNS = 1 << 16, 256, 4096
"""The largest sizes of forms: they bound memory, and code, which is written out for a block."""
LAST_POSITION = (1 << 32) - 1
"""The last position in a row that fits the lower half of a rank."""


@irdl_op_definition
class TopKOp(FormsOp):
    """
    `graph.top_k` into tensors for the elements and for their indices, whose size along the axis is k.

    ```mlir
    %v, %i = linalg_ext.top_k %x into %v0, %i0 axis 1 largest true
      {sched.schedule = #sched.schedule<form = "rounds", sizes = {block = 32}>}
      : (tensor<3x1000xf32>, tensor<3x10xf32>, tensor<3x10xi64>) -> (tensor<3x10xf32>, tensor<3x10xi64>)
    ```
    Its schedule has a `form`:
    - `rounds`: each round extracts the greatest rank that is left, found by the maxima of blocks of ranks.
    - `search`: one search along the row maintains the first k; blocks without any of them are skipped.

    Constraints:
      (C1) operands and properties are those of `graph.top_k`.
      (C2) the results, of the types of `inits`, are those of `graph.top_k`.
    """

    name = "linalg_ext.top_k"
    GRAPH_OP: ClassVar = GraphTopKOp

    input = operand_def(TensorType)
    inits = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    largest = prop_def(BoolAttr)
    of = opt_prop_def(Attribute)

    assembly_format = (
        "$input `into` $inits (`of` $of^)? `axis` $axis `largest` $largest attr-dict"
        " `:` functional-type(operands, results)"
    )

    def size_properties(self, sizes: Sequence[Sequence[Dim]]) -> Mapping[str, Attribute]:
        return {"k": dims_attr([sizes[0][self.axis.value.data]])}

    @property
    def row(self) -> Dim:
        """The number of elements along the axis; unknown where it is open."""
        return dims_of(self.input.type)[self.axis.value.data]

    @property
    def k(self) -> Dim:
        """The number of elements that are chosen; unknown where it is open."""
        return dims_of(self.inits[0].type)[self.axis.value.data]

    def forms(self) -> Mapping[str, Form]:
        lanes, row = SEARCHES.rank_lanes, self.row
        most = -(-max(1, row.value) // lanes) * lanes if row.is_static else MOST_RANKS
        rounds = Size(min(rank_block(row), MOST_RANKS), min(most, MOST_RANKS), lanes)
        dims = dims_of(self.input.type)[self.axis.value.data + 1 :]
        is_contiguous = all(dim == Dim.of(1) for dim in dims)
        compared = {"block": Size(SEARCHES.search_block, MOST_COMPARED)} if is_contiguous else {}
        forms = {"rounds": Form({"block": rounds}, self._without_ranks()), "search": Form(compared)}
        return forms if self._have_rounds() else dict(reversed(forms.items()))

    def _without_ranks(self) -> str | None:
        """The reason why an element and its position do not fit a rank of 64 bits; None if they do."""
        scalars = Scalars(self.of or tensor_element(self.input))
        if not (scalars.type == f32 if scalars.is_float else scalars.bits <= 32):
            return "form rounds needs elements of at most 32 bits"
        is_long = self.row.is_static and self.row.value > LAST_POSITION
        return f"form rounds needs rows of at most {LAST_POSITION} elements" if is_long else None

    def _have_rounds(self) -> bool:
        """
        Whether rounds are faster: they lose when a few of very many elements are requested (8 of 32000: the
        search needs 0.7 of the time).
        """
        is_few = self.k.is_static and self.row.is_static and self.row.value >= SEARCHES.many * self.k.value
        return self._without_ranks() is None and not is_few


def rank_block(row: Dim) -> int:
    """The size of a row's blocks: about the root of the row's size, or a short row as a whole."""
    if not row.is_static:
        return SEARCHES.open_block
    lanes = SEARCHES.rank_lanes
    if row.value <= SEARCHES.one_block:
        return max(1, -(-row.value // lanes)) * lanes
    size = lanes
    while 2 * size * size < row.value:
        size *= 2
    return size


@irdl_op_definition
class ScanOp(ScanProperties, FormsOp):
    """
    `graph.scan` into a tensor, all of whose elements it writes.

    ```mlir
    %y = linalg_ext.scan %x into %init kind "sum" axis 1 exclusive false reverse false
      {sched.schedule = #sched.schedule<form = "columns", sizes = {columns = 64}>}
      : (tensor<3x50x300xf32>, tensor<3x50x300xf32>) -> tensor<3x50x300xf32>
    ```
    Its schedule has a `form`:
    - `rows`: each row along the innermost axis by itself, element by element.
    - `columns`: all elements after the axis are one row; blocks of its columns are vectors that move along
      the axis.
    - `layers`: whole layers, which are structured ops inside a loop along the axis.

    Constraints:
      (C1) operands and properties are as for `graph.scan`.
      (C2) the result has the type of `init` and the shape of the result of `graph.scan`.
    """

    name = "linalg_ext.scan"
    GRAPH_OP: ClassVar = GraphScanOp

    input = operand_def(TensorType)
    init = operand_def(TensorType)
    result = result_def(TensorType)
    of = opt_prop_def(Attribute)

    assembly_format = (
        "$input `into` $init (`of` $of^)? `kind` $kind `axis` $axis `exclusive` $exclusive"
        " `reverse` $reverse attr-dict `:` functional-type(operands, results)"
    )

    def forms(self) -> Mapping[str, Form]:
        element, inner = tensor_element(self.input), dims_of(self.input.type)[self.axis.value.data + 1 :]
        is_innermost = all(dim == Dim.of(1) for dim in inner)
        rows = None if is_innermost else "form rows scans the innermost axis only"
        is_whole = self.of is None and Scalars(element).type == element
        columns = None if is_whole else "form columns needs numbers that are added in their own type"
        if not all(dim.is_static for dim in inner):
            columns = "form columns needs known sizes after the axis"
        block = Size(SEARCHES.scanned_bytes // element_bytes(element), MOST_COLUMNS)
        forms = {"rows": Form({}, rows), "columns": Form({"columns": block}, columns), "layers": Form({})}
        return dict(sorted(forms.items(), key=lambda item: item[1].refusal is not None))
