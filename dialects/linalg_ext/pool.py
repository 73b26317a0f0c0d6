"""Pools along rows on level 2: planes whose rows are read as vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, TensorType, UnitAttr, bf16, f16, f32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.costs.kernels import POOLS
from stepwell.dialects.graph.window import PoolOp as GraphPoolOp
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.window_axis import WindowAxis
from stepwell.dialects.types import bool_attr, dims_of
from stepwell.runtime.dims import Dim

KINDS = ("max", "avg")
_RANK = 4
LEAST_LANES, MOST_LANES, MOST_STRIPS, MOST_ROWS = 4, 32, 16, 64
"""The sizes of forms: they bound code, which is written out for strips, and for rows up to `unrolled`."""


@irdl_op_definition
class PoolOp(FormsOp):
    """
    A `graph.pool` of two spatial axes into a tensor, all of whose elements it writes.

    ```mlir
    %y = linalg_ext.pool %x into %init kind "avg" kernel [3, 3] strides [2, 2] pads [1, 1, 1, 1] with_pads
      {sched.schedule = #sched.schedule<form = "rows", sizes = {lanes = 16, strips = 8}>}
      : (tensor<1x64x112x112xf32>, tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
    ```
    A mean divides by the cells inside the input, or with `with_pads` inside the input and its pads. Its
    schedule has a `form`:
    - `rows`: each row of the input is reduced along the windows' width once, for all windows that cover it.

    Constraints:
      (C1) `kind` is max or avg; elements are f32, f16 or bf16, planes of known size [N, C, H, W].
      (C2) two positive kernel sizes and strides, and four pads that are not negative.
      (C3) the result has the type of `init` and the shape of a `graph.pool`, whose last windows may reach
           past the end.
    """

    name = "linalg_ext.pool"
    GRAPH_OP: ClassVar = GraphPoolOp
    UNITS: ClassVar = {"with_pads": "count_include_pad"}

    x = operand_def(TensorType)
    init = operand_def(TensorType)
    result = result_def(TensorType)
    kind = prop_def(StringAttr)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    with_pads = opt_prop_def(UnitAttr)

    assembly_format = (
        "$x `into` $init `kind` $kind `kernel` $kernel `strides` $strides `pads` $pads"
        " (`with_pads` $with_pads^)? attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        if self.kind.data not in KINDS:  # (C1)
            raise VerifyException(f'kind must be {" or ".join(KINDS)}, found "{self.kind.data}"')
        types, dims = (self.x.type, self.result.type), [dims_of(v.type) for v in (self.x, self.result)]
        is_plane = all(len(own) == _RANK and all(d.is_static for d in own[2:]) for own in dims)
        if not is_plane or tensor_element(self.x) not in (f32, f16, bf16):
            raise VerifyException(f"planes must be floats [N, C, H, W] of known size, found {types}")
        kernel, strides, pads = (p.get_values() for p in (self.kernel, self.strides, self.pads))
        lengths = [len(numbers) for numbers in (kernel, strides, pads)]
        if lengths != [2, 2, 4] or min(*kernel, *strides) < 1 or min(pads) < 0:  # (C2)
            raise VerifyException(f"expected 2 kernel sizes, 2 strides and 4 pads, found {lengths}")
        super().verify_()  # (C3)

    def size_properties(self, sizes: Sequence[Sequence[Dim]]) -> Mapping[str, Attribute]:
        return {"dilations": DenseArrayBase.from_list(i64, [1, 1]), "ceil": bool_attr(self._is_rounded_up)}

    @property
    def _is_rounded_up(self) -> bool:
        """Whether there are windows past the end of the input."""
        return any((a.count - 1) * a.stride + a.kernel > a.begin + a.size + a.end for a in self.axes)

    @property
    def axes(self) -> list[WindowAxis]:
        """The windows along the rows, and along the columns."""
        sizes, counts, pads = tensor_shape(self.x), tensor_shape(self.result), self.pads.get_values()
        each = zip(sizes[2:], counts[2:], self.kernel.get_values(), self.strides.get_values(), strict=True)
        return [WindowAxis(*numbers, 1, pads[axis], pads[2 + axis]) for axis, numbers in enumerate(each)]

    def forms(self) -> Mapping[str, Form]:
        rows, columns = self.axes
        lanes = max(LEAST_LANES, min(POOLS.lanes, 1 << (columns.count - 1).bit_length()))
        strips = POOLS.kept_vectors // max(1, rows.kernel - rows.stride) or 1
        return {
            "rows": Form(
                {
                    "lanes": Size(lanes, MOST_LANES, LEAST_LANES, is_power=True),
                    "strips": Size(strips, MOST_STRIPS),
                    "unrolled": Size(POOLS.unrolled_rows, MOST_ROWS),
                }
            )
        }
