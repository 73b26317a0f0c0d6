"""Ops that one grid of a device computes: on tensors at level 2, on buffers at level 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float32Type,
    FloatAttr,
    MemRefType,
    TensorType,
    UnitAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.reduction import SCANS, ScanProperties
from stepwell.dialects.linalg_ext.grid import GridOp

Shaped: TypeAlias = TensorType[Attribute] | MemRefType[Attribute]
SHAPED = base(TensorType) | base(MemRefType)
MOST_DEPTH = 128
"""The most elements of a key, and of a value, of which a block has tiles in its memory."""
SCANNED = (f32, i32, i64)
"""The types of elements that scans add up in."""


@irdl_op_definition
class GridAttentionOp(GridOp):
    """
    `graph.attention` by one grid of a device.

    ```mlir
    %y = linalg_ext.grid_attention %q, %k, %v into %init mask %m scale 0.125 zero_masked
      : (tensor<8x49x64xf32>, tensor<8x50x64xf32>, tensor<8x50x32xf32>, tensor<8x49x32xf32>,
         tensor<49x50xf32>) -> tensor<8x49x32xf32>
    linalg_ext.grid_attention %a, %b, %c into %d scale 1.0
      : (memref<?x64xf32>, memref<?x64xf32>, memref<?x64xf32>, memref<?x64xf32>) -> ()
    ```
    Its schedule has a loop for each dimension of the result, then one over the keys.

    Constraints:
      (C1) elements are f32; the sizes of keys and of values are known, and at most 128.
      (C2) shapes are as for `graph.attention`.
      (C3) operands are tensors, and there is a result of the type of `init`, or buffers without a result.
    """

    name = "linalg_ext.grid_attention"
    MEANING: ClassVar = "graph.attention"

    q = operand_def(SHAPED)
    k = operand_def(SHAPED)
    v = operand_def(SHAPED)
    init = operand_def(SHAPED)
    mask = opt_operand_def(SHAPED)
    outputs = var_result_def(TensorType)
    scale = prop_def(FloatAttr[Float32Type])
    zero_masked = opt_prop_def(UnitAttr)

    assembly_format = (
        "$q `,` $k `,` $v `into` $init (`mask` $mask^)? `scale` $scale (`zero_masked` $zero_masked^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operands: Sequence[SSAValue],
        init: SSAValue,
        mask: SSAValue | None,
        scale: FloatAttr[Float32Type],
        *,
        zero_masked: bool = False,
    ):
        """Args: `operands` are queries, keys and values."""
        properties: dict[str, Attribute] = {"scale": scale}
        if zero_masked:
            properties["zero_masked"] = UnitAttr()
        super().__init__(operands=[*operands, init, mask], result_types=[[init.type]], properties=properties)

    @property
    def written(self) -> SSAValue:
        return self.init

    def arguments(self) -> Sequence[SSAValue | None]:
        return [self.q, self.k, self.v, self.mask]

    def keywords(self) -> Mapping[str, object]:
        return {"scale": self.scale.value.data, "zero_masked": self.zero_masked is not None}

    def operations(self) -> int:
        """Both products, the difference to the greatest score, the power, and its sum."""
        return 2 * (self.depth + self.columns) + 3

    def points(self) -> Sequence[tuple[SSAValue, int]]:
        batch_and_queries = range(len(shape_of(self.init)) - 1)
        return [*((self.init, axis) for axis in batch_and_queries), (self.k, len(shape_of(self.k)) - 2)]

    @property
    def rank(self) -> int:
        """The dimensions of the result."""
        return len(shape_of(self.init))

    @property
    def queries(self) -> int | None:
        """The queries of a batch entry; None where they are known at run time only."""
        queries = shape_of(self.init)[-2]
        return None if queries == DYNAMIC_INDEX else queries

    @property
    def depth(self) -> int:
        """The elements of a query and of a key."""
        return shape_of(self.q)[-1]

    @property
    def columns(self) -> int:
        """The elements of a value."""
        return shape_of(self.v)[-1]

    def check(self) -> None:
        if any(element_of(value) != f32 for value in self.operands):  # (C1)
            raise VerifyException(
                f"elements must be f32, found {', '.join(str(v.type) for v in self.operands)}"
            )
        q, k, v, result = (shape_of(value) for value in (self.q, self.k, self.v, self.init))
        if min(map(len, (q, k, v))) < 2 or not takes_rows(q[-1], v[-1]):
            message = f"keys and values must have known sizes of at most {MOST_DEPTH}"
            raise VerifyException(f"{message}, found {self.k.type} and {self.v.type}")
        rank = len(result)
        batches = [shape[:-2] for shape in (q, k, v)]
        agree = q[-1] == k[-1] and not _differ(k[-2], v[-2])  # (C2)
        agree = agree and rank >= 2 and not _differ(result[-2], q[-2]) and result[-1] == v[-1]
        agree = agree and all(_broadcasts(batch, result[:-2]) for batch in batches)
        if self.mask is not None:
            agree = agree and _broadcasts(shape_of(self.mask), [*result[:-1], k[-2]])
        if not agree:
            raise VerifyException(f"shapes do not fit: {', '.join(str(v.type) for v in self.operands)}")


@irdl_op_definition
class GridScanOp(ScanProperties, GridOp):
    """
    `graph.scan` by one grid of a device.

    ```mlir
    %y = linalg_ext.grid_scan %x into %init kind "sum" axis 1 exclusive false reverse false
      : (tensor<3x50xf32>, tensor<3x50xf32>) -> tensor<3x50xf32>
    ```
    Its schedule has a loop for each dimension.

    Constraints:
      (C1) elements are f32, i32 or i64, and `kind` is one of `graph.scan`.
      (C2) `axis` is a dimension, and `init` has the shape of the input.
      (C3) operands are tensors, and there is a result of the type of `init`, or buffers without a result.
    """

    name = "linalg_ext.grid_scan"
    MEANING: ClassVar = "graph.scan"

    input = operand_def(SHAPED)
    init = operand_def(SHAPED)
    outputs = var_result_def(TensorType)

    assembly_format = (
        "$input `into` $init `kind` $kind `axis` $axis `exclusive` $exclusive `reverse` $reverse"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, input: SSAValue, init: SSAValue, properties: Mapping[str, Attribute]):
        """Args: `properties` are those of `graph.scan`."""
        super().__init__(operands=[input, init], result_types=[[init.type]], properties=properties)

    @property
    def written(self) -> SSAValue:
        return self.init

    def arguments(self) -> Sequence[SSAValue | None]:
        return [self.input]

    def operations(self) -> int:
        return 1

    def points(self) -> Sequence[tuple[SSAValue, int]]:
        return [(self.input, axis) for axis in range(len(shape_of(self.input)))]

    def check(self) -> None:
        if element_of(self.input) not in SCANNED or self.kind.data not in SCANS:  # (C1)
            raise VerifyException(f"no scan of {element_of(self.input)} of kind {self.kind.data!r}")
        before, after = shape_of(self.input), shape_of(self.init)
        is_same = len(before) == len(after) and not any(map(_differ, before, after))
        if not is_same or not 0 <= self.axis.value.data < len(before):  # (C2)
            message = f"a scan along axis {self.axis.value.data} of {self.input.type} into {self.init.type}"
            raise VerifyException(message)


def takes_rows(depth: int, columns: int) -> bool:
    """Whether one grid computes attention with keys and values of these sizes."""
    return 0 < depth <= MOST_DEPTH and 0 < columns <= MOST_DEPTH


def shape_of(value: SSAValue) -> Sequence[int]:
    """The shape of a tensor or a buffer."""
    return cast(Shaped, value.type).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The type of the elements of a tensor or a buffer."""
    return cast(Shaped, value.type).element_type


def _differ(a: int, b: int) -> bool:
    """Whether two sizes are known, and differ."""
    return DYNAMIC_INDEX not in (a, b) and a != b


def _broadcasts(shape: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether a shape broadcasts to another."""
    if len(shape) > len(whole):
        return False
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return all(a == 1 or not _differ(a, b) for a, b in pairs)
