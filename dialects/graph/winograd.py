"""Convolution by Winograd's minimal filtering: fewer products, for filters that were transformed before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, f32, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.convolution import check_fits
from stepwell.dialects.graph.relations import element_of_value, shape_text
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.winograd import FILTER, TILES

_BLOCKED_RANK = 5


@irdl_op_definition
class WinogradConvOp(GraphOp):
    """
    A 3x3 convolution of stride 1 in (tile + 2)² products for each tile² results, instead of 9 tile².

    ```mlir
    %y = graph.winograd_conv %x, %u tile 4 pads [1, 1, 1, 1]
      : (tensor<1x2x14x14x16xf32>, tensor<36x2x32x32xf32>) -> tensor<1x4x14x14x16xf32>
    ```
    `x` is in blocks of channels (`NCHW16c`); `u` is the filters after `G w Gᵀ`, point by point in panels
    of output channels: [(tile + 2)², O / panel, C, panel]. `pads` has all begins, then all ends.
    A `u` of i32 has C / 2 pairs of bf16, the first channel lower; transformed input is then rounded too.
    Constraints:
      (C1) `x` is f32, `u` f32 or i32, `tile` is 2 or 4.
      (C2) `x` is [N, C / b, H, W, b], and `u` [(tile + 2)², panels, C, panel] with whole blocks of results.
      (C3) four pads that are not negative, and at least one window on each axis.
      (C4) `result = [N, O / b, H + pads - 2, W + pads - 2, b]`.
    Source: Lavin & Gray 2015, "Fast Algorithms for Convolutional Neural Networks".
    """

    name = "graph.winograd_conv"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    x = operand_def(AnyTensor)
    u = operand_def(AnyTensor)
    result = result_def(AnyTensor)
    tile = prop_def(IntegerAttr.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))

    traits = traits_def(Pure())
    assembly_format = (
        "$x `,` $u `tile` $tile `pads` $pads attr-dict `:` `(` type($x) `,` type($u) `)` `->` type($result)"
    )

    def __init__(self, x: SSAValue, u: SSAValue, *, tile: int, pads: Sequence[int]):
        self.initialize([x, u], {"tile": tile, "pads": pads})

    @property
    def has_pairs(self) -> bool:
        """Whether products are those of pairs of bf16."""
        return element_of_value(self.u) == i32

    def check(self) -> None:
        if element_of_value(self.x) != f32 or element_of_value(self.u) not in (f32, i32):  # (C1)
            raise VerifyException("elements must be f32, or pairs of bf16 as i32 in u")
        tile, pads = self.tile.value.data, self.pads.get_values()
        if tile not in TILES:
            raise VerifyException(f"tile must be one of {list(TILES)}, found {tile}")
        x, u = dims_of(self.x.type), dims_of(self.u.type)
        if len(x) != _BLOCKED_RANK or not x[-1].is_static:  # (C2)
            raise VerifyException(f"x must be [N, C / b, H, W, b], found {shape_text(x)}")
        points, parts = (tile + FILTER - 1) ** 2, 2 if self.has_pairs else 1
        channels = x[1] * x[-1] // parts
        is_fitting = len(u) == len("PQCL") and u[0] == points and u[2] == channels and not x[-1].value % parts
        if not is_fitting or (u[1] * u[3]).value % x[-1].value:
            raise VerifyException(
                f"u must be [{points}, panels, {channels}, panel] with a multiple of {x[-1]} results, "
                f"found {shape_text(u)}"
            )
        if len(pads) != len(x) - 1 or any(p < 0 for p in pads):  # (C3)
            raise VerifyException(f"pads must be 4 numbers that are not negative, found {list(pads)}")
        check_fits(x[2:4], [Dim.of(FILTER)] * 2, [1, 1], pads)

    def infer(self) -> Sequence[Attribute]:  # (C4)
        n, _, height, width, lanes = dims_of(self.x.type)
        _, panels, _, panel = dims_of(self.u.type)
        top, left, bottom, right = self.pads.get_values()
        rows, columns = height + (top + bottom - FILTER + 1), width + (left + right - FILTER + 1)
        return [tensor_type(f32, [n, panels * panel // lanes, rows, columns, lanes])]
