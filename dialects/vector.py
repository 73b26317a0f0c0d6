"""
The `vector` dialect: xDSL's ops, and MLIR's for vectors of several dimensions that xDSL lacks.

Only `vectorize` makes the added ops; `unroll-vectors` replaces them, so code generation never sees one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import ClassVar, cast

from xdsl.dialects import vector as upstream
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, VectorType, i64
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.runtime.errors import StepwellError

ALIGNMENT = "alignment"
"""
Key of the bytes of which the address of a `vector.load` or `vector.store` is a multiple, as in MLIR; without
it these are an element's.
"""
_MOST_ALIGNMENT = 256


def alignment_of(op: upstream.LoadOp | upstream.StoreOp) -> int:
    """The bytes of which an access' address is a multiple by its attribute, a power of two; else 1."""
    value = op.attributes.get(ALIGNMENT)
    number = value.value.data if isinstance(value, IntegerAttr) else 1
    return number if 0 < number <= _MOST_ALIGNMENT and number & (number - 1) == 0 else 1


def vector_shape(type: Attribute) -> tuple[int, ...]:
    """The shape of a vector type; a scalar has none."""
    return type.get_shape() if isinstance(type, VectorType) else ()


def constant_position(op: upstream.ExtractOp | upstream.InsertOp) -> int:
    """The position of an element in a vector of one dimension. Raises: StepwellError `unsupported`."""
    positions = op.static_position.get_values()
    if len(positions) != 1 or positions[0] == DYNAMIC_INDEX:
        raise StepwellError("unsupported", op, f"{op.name} in a kernel: its position is one constant")
    return positions[0]


@irdl_op_definition
class MultiReductionOp(IRDLOperation):
    """
    Combine a vector along some of its dimensions with an accumulator.

    ```mlir
    %sum = vector.multi_reduction <add>, %x, %acc [1] : vector<4x16xf32> to vector<4xf32>
    ```
    Constraints:
      (C1) `reduction_dims` are dimensions of the source, each once, ascending.
      (C2) the result has the source's other dimensions and its element type.
    """

    name = "vector.multi_reduction"

    T: ClassVar = VarConstraint("T", AnyAttr())

    kind = prop_def(CombiningKindAttr)
    source = operand_def(VectorType)
    acc = operand_def(T)
    reduction_dims = prop_def(DenseArrayBase.constr(i64))
    dest = result_def(T)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kind `,` $source `,` $acc $reduction_dims attr-dict `:` type($source) `to` type($dest)"
    )

    def __init__(self, kind: CombiningKindAttr, source: SSAValue, acc: SSAValue, dims: Sequence[int]):
        super().__init__(
            operands=[source, acc],
            result_types=[acc.type],
            properties={"kind": kind, "reduction_dims": DenseArrayBase.from_list(i64, dims)},
        )

    def verify_(self) -> None:
        shape, dims = vector_shape(self.source.type), self.reduction_dims.get_values()
        if sorted(set(dims)) != list(dims) or not set(dims) <= set(range(len(shape))):  # (C1)
            raise VerifyException(
                f"reduction dims must be ascending dimensions of {self.source.type}, found {list(dims)}"
            )
        kept = tuple(n for d, n in enumerate(shape) if d not in dims)
        if vector_shape(self.dest.type) != kept:  # (C2)
            raise VerifyException(f"expected a result of shape {list(kept)}, found {self.dest.type}")


@irdl_op_definition
class ShapeCastOp(IRDLOperation):
    """
    The same elements in another shape, in row-major order.

    ```mlir
    %y = vector.shape_cast %x : vector<4xf32> to vector<4x1xf32>
    ```
    Constraints:
      (C1) both types have as many elements, of one type.
    """

    name = "vector.shape_cast"

    source = operand_def(VectorType)
    result = result_def(VectorType)

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, result_type: Attribute):
        super().__init__(operands=[source], result_types=[result_type])

    def verify_(self) -> None:
        if prod(vector_shape(self.source.type)) != prod(vector_shape(self.result.type)):  # (C1)
            raise VerifyException(
                f"{self.source.type} and {self.result.type} have unequal numbers of elements"
            )


_TransferOp = upstream.TransferReadOp | upstream.TransferWriteOp
_PROPERTIES = ("in_bounds", "permutation_map", "operandSegmentSizes")


def _with_attributes(parser: Parser, parse: Callable[[Parser], _TransferOp]) -> _TransferOp:
    """A transfer with all attributes of its text: xDSL's parser leaves `sched.prefetch` out."""
    read, found = parser.parse_optional_attr_dict, dict[str, Attribute]()

    def recorded() -> dict[str, Attribute]:
        found.update(attributes := read())
        return attributes

    parser.parse_optional_attr_dict = recorded  # of this parser alone
    try:
        op = parse(parser)
    finally:
        del parser.parse_optional_attr_dict
    op.attributes |= {name: value for name, value in found.items() if name not in _PROPERTIES}
    return op


class TransferReadOp(upstream.TransferReadOp):
    """The parser of xDSL's op."""

    @classmethod
    def parse(cls, parser: Parser) -> upstream.TransferReadOp:
        return cast("upstream.TransferReadOp", _with_attributes(parser, super().parse))


class TransferWriteOp(upstream.TransferWriteOp):
    """The parser of xDSL's op."""

    @classmethod
    def parse(cls, parser: Parser) -> upstream.TransferWriteOp:
        return cast("upstream.TransferWriteOp", _with_attributes(parser, super().parse))


_PARSED = {op.name: op for op in (TransferReadOp, TransferWriteOp)}
Vector = Dialect(
    "vector",
    [*(_PARSED.get(op.name, op) for op in upstream.Vector.operations), MultiReductionOp, ShapeCastOp],
    list(upstream.Vector.attributes),
)
