"""Pooling at the graph level: one value a window and channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def, var_result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.convolution import check_fits, check_windows, checked_layout
from stepwell.dialects.types import bool_attr, dims_of, int_attr, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import parse_layout, plain_layout
from stepwell.runtime.window import window_count

POOL_KINDS = ("max", "avg", "lp")
INDEX_ORDERS = ("none", "row", "column")


@irdl_op_definition
class PoolOp(GraphOp):
    """
    Reduce windows of the spatial axes to their maximum, mean, or p-norm.

    ```mlir
    %y = graph.pool %x kind "max" kernel [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1]
      : tensor<1x64x112x112xf32> -> tensor<1x64x56x56xf32>
    ```
    Cells outside the input take no part; a mean divides by the cells inside the input, or with
    `count_include_pad` inside the input and its pads. `ceil` rounds the number of windows up, without a last
    window that would start in the end pad. A maximum can also say where it was (`indices`): flat in the whole
    unpadded tensor, with row- or column-major spatial axes.
    Constraints:
      (C1) `kind` is max, avg or lp; `indices` is none, row or column, and not none only for max; `p >= 1`.
      (C2) the layout fits the rank.
      (C3) one positive kernel size, stride and dilation, two pads >= 0 per spatial axis.
      (C4) at least one window on each axis.
      (C5) `result = [N, C, spatial ⌊(in + pads - K) / stride⌋ + 1]`; the indices are i64.
    Source: ONNX MaxPool, AveragePool, LpPool, opset 22.
    """

    name = "graph.pool"
    KIND: ClassVar[Kind] = Kind.REDUCTION

    x = operand_def(AnyTensor)
    outputs = var_result_def(AnyTensor)
    kind = prop_def(StringAttr)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    ceil = prop_def(BoolAttr, default_value=bool_attr(False))
    count_include_pad = prop_def(BoolAttr, default_value=bool_attr(False))
    p = prop_def(IntegerAttr.constr(i64), default_value=int_attr(2))
    indices = prop_def(StringAttr, default_value=StringAttr("none"))
    data_layout = prop_def(StringAttr, default_value=StringAttr("NCHW"))

    traits = traits_def(Pure())
    assembly_format = (
        "$x `kind` $kind `kernel` $kernel `strides` $strides `dilations` $dilations `pads` $pads "
        "(`ceil` $ceil^)? (`count_include_pad` $count_include_pad^)? (`p` $p^)? (`indices` $indices^)? "
        "(`data_layout` $data_layout^)? attr-dict `:` type($x) `->` type($outputs)"
    )

    def __init__(
        self,
        x: SSAValue,
        kind: str,
        kernel: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        ceil: bool = False,
        count_include_pad: bool = False,
        p: int = 2,
        indices: str = "none",
        data_layout: str | None = None,
    ):
        rank = len(kernel)
        self.initialize(
            [x],
            {
                "kind": kind,
                "kernel": kernel,
                "strides": strides or [1] * rank,
                "dilations": dilations or [1] * rank,
                "pads": pads or [0] * 2 * rank,
                "ceil": ceil,
                "count_include_pad": count_include_pad,
                "p": p,
                "indices": indices,
                "data_layout": data_layout or plain_layout("NC", rank),
            },
            result_types=[[x.type] * (1 if indices == "none" else 2)],
        )

    def check(self) -> None:
        kind, indices, p = self.kind.data, self.indices.data, self.p.value.data
        if kind not in POOL_KINDS:  # (C1)
            raise VerifyException(f'kind must be one of {", ".join(POOL_KINDS)}, found "{kind}"')
        if indices not in INDEX_ORDERS or (indices != "none" and kind != "max"):
            raise VerifyException(f'indices must be none, or for max row or column, found "{indices}"')
        if p < 1:
            raise VerifyException(f"p must be at least 1, found {p}")
        data = checked_layout(self.data_layout.data, self.x, "NC")  # (C2)
        extents = data.logical(dims_of(self.x.type))
        kernel = [Dim.of(k) for k in self.kernel.get_values()]
        dilations, pads = self.dilations.get_values(), self.pads.get_values()
        if len(kernel) != len(data.spatial):  # (C3)
            raise VerifyException(f"kernel must have {len(data.spatial)} numbers, found {len(kernel)}")
        check_windows(len(kernel), self.strides.get_values(), dilations, pads, kernel)
        if any(pad < 0 for pad in pads):
            raise VerifyException(f"pads must not be negative, found {list(pads)}")
        check_fits([extents[letter] for letter in data.spatial], kernel, dilations, pads)  # (C4)

    def infer(self) -> Sequence[Attribute]:  # (C5)
        data = parse_layout(self.data_layout.data)
        extents = data.logical(dims_of(self.x.type))
        pads, rank = self.pads.get_values(), len(data.spatial)
        for axis, letter in enumerate(data.spatial):
            extents[letter] = window_count(
                extents[letter],
                Dim.of(self.kernel.get_values()[axis]),
                self.strides.get_values()[axis],
                self.dilations.get_values()[axis],
                pads[axis],
                pads[rank + axis],
                ceil=bool(self.ceil.value.data),
            )
        shape = data.physical(extents)
        results = [tensor_type(tensor_of(self.x).element_type, shape)]
        return results if self.indices.data == "none" else [*results, tensor_type(i64, shape)]
