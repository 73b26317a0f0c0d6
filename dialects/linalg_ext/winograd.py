"""Winograd convolutions on level 2: blocks of tiles, shared by threads, or whose channels they share."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.costs.layouts import WINOGRAD
from stepwell.dialects.graph.winograd import WinogradConvOp as GraphWinogradConvOp
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.machine.target import F32_BYTES

MOST_TILES, MOST_GROUPS = 1024, 64
"""The largest sizes of forms: they bound the memory of a block, and of all groups."""


@irdl_op_definition
class WinogradConvOp(FormsOp):
    """
    `graph.winograd_conv` into a tensor, all of whose elements it writes.

    ```mlir
    %y = linalg_ext.winograd_conv %x, %u into %init tile 4 pads [1, 1, 1, 1]
      {sched.schedule = #sched.schedule<form = "channels", sizes = {tiles = 16}>}
      : (tensor<1x2x14x14x16xf32>, tensor<36x2x32x32xf32>, tensor<1x4x14x14x16xf32>)
      -> tensor<1x4x14x14x16xf32>
    ```
    The tiles of a sample are cut into blocks; for each block the input is transformed, multiplied, and the
    result transformed back. The schedule has a `form`, which says how threads divide this work:
    - `blocks`: each thread computes groups of blocks.
    - `channels`: the threads divide the channels of each block.

    Constraints:
      (C1) operands are as for `graph.winograd_conv`, with a known number of channels.
      (C2) the result has the type of `init` and the shape of the result of `graph.winograd_conv`.
    """

    name = "linalg_ext.winograd_conv"
    GRAPH_OP: ClassVar = GraphWinogradConvOp

    x = operand_def(TensorType)
    u = operand_def(TensorType)
    init = operand_def(TensorType)
    result = result_def(TensorType)
    tile = prop_def(IntegerAttr.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        "$x `,` $u `into` $init `tile` $tile `pads` $pads attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        if not all(d.is_static for d in (*dims_of(self.x.type)[1:2], *dims_of(self.u.type))):  # (C1)
            raise VerifyException(f"channels must be known, found {self.x.type} and {self.u.type}")
        super().verify_()

    @property
    def tiles(self) -> Dim:
        """The tiles of a sample."""
        rows, columns = dims_of(self.result.type)[2:4]
        return rows.ceildiv(self.tile.value.data) * columns.ceildiv(self.tile.value.data)

    def forms(self) -> Mapping[str, Form]:
        points, panels, channels, panel = tensor_shape(self.u)
        tile_bytes = points * (channels + panels * panel) * F32_BYTES
        most = max(WINOGRAD.enough_tiles, WINOGRAD.block_bytes // tile_bytes)
        tiles, groups, total = _tiles_of_block(self.tiles, most), WINOGRAD.max_groups, self.tiles
        is_first, bound = True, MOST_TILES
        if total.is_static:
            count, bound = ceil(total.value / tiles), min(MOST_TILES, total.value)
            groups = ceil(count / ceil(count / groups))
            is_first = count >= WINOGRAD.enough_blocks
        each = {"tiles": Size(tiles, bound)}
        forms = {"blocks": Form({**each, "groups": Size(groups, MOST_GROUPS)}), "channels": Form(each)}
        return forms if is_first else dict(reversed(forms.items()))


def _tiles_of_block(total: Dim, most: int) -> int:
    """
    The tiles of a block that fit the cache; a sample's blocks are equally full and, if many, even in number.
    """
    if not total.is_static:
        return min(most, WINOGRAD.open_tiles)
    count = ceil(total.value / most)
    return ceil(total.value / (count + count % 2 if count >= WINOGRAD.enough_blocks else count))
