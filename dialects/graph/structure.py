"""Structure of the graph level: constants, tuples, kernels (`graph.fused`) and run-time checks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TupleType,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.constants import MAX_INLINE_ELEMS, Constant, array_of, constant_attr, derived_attr
from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind, OrUnknown
from stepwell.dialects.types import DimLike, WeightAttr, int_attr, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array


@irdl_op_definition
class ConstantOp(GraphOp):
    """
    A constant tensor: a few elements in place, or a weight whose bytes are in the weight store.

    ```mlir
    %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = graph.constant #graph.weight<"w", "9f86d081884c7d65", tensor<64x32xf32>> : tensor<64x32xf32>
    ```
    Constraints:
      (C1) an inline value has at most 16 elements.
      (C2) the result has the type of the value, without dynamic dimensions.
    """

    name = "graph.constant"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    value = prop_def()
    result = result_def(AnyTensor)

    traits = traits_def(Pure())

    def __init__(self, value: Constant):
        super().__init__(properties={"value": value}, result_types=[value.type])

    @staticmethod
    def of(array: npt.NDArray[np.generic], weights: WeightStore, name: str = "") -> ConstantOp:
        """A constant holding an array; a large one goes to the weight store under `name`."""
        return ConstantOp(constant_attr(array, name, weights))

    @property
    def weight_name(self) -> str:
        """The name of a weight; empty for an inline constant."""
        return self.value.weight_name.data if isinstance(self.value, WeightAttr) else ""

    def derived(
        self,
        suffix: str,
        function: Callable[[Array], Array],
        shape: Sequence[DimLike],
        weights: WeightStore,
        *,
        text: str = "",
        element: Attribute | None = None,
    ) -> ConstantOp:
        """
        A constant of a shape that a function computes from this one, as `derived_attr`.

        Args: `suffix` goes into its name, and names the function unless `text` does; `element` is the type of
        its elements (default: the element type of this constant).
        """
        type = tensor_type(element or tensor_of(self.result).element_type, shape)
        source, name = cast(Constant, self.value), f"{self.weight_name}:{suffix}"
        return ConstantOp(derived_attr(text or suffix, function, [source], type, name, weights))

    def infer(self) -> Sequence[Attribute]:
        return [cast(Constant, self.value).type]

    def check(self) -> None:
        value = self.value
        if isinstance(value, DenseIntOrFPElementsAttr):
            if (elems := int(np.prod(value.get_shape()))) > MAX_INLINE_ELEMS:  # (C1)
                raise VerifyException(
                    f"an inline constant has at most {MAX_INLINE_ELEMS} elements, found {elems}"
                )
        elif not isinstance(value, WeightAttr):
            raise VerifyException(f"value must be dense<...> or #graph.weight<...>, found {value}")

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        if isinstance(value, DenseIntOrFPElementsAttr):
            type = cast(Attribute, cast("DenseIntOrFPElementsAttr", value).type)
        elif isinstance(value, WeightAttr):
            parser.parse_punctuation(":")
            type = parser.parse_type()
        else:
            parser.raise_error("expected dense<...> or #graph.weight<...>")
        return cls.create(
            properties={"value": cast(Attribute, value)}, result_types=[type], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if isinstance(self.value, WeightAttr):
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)


def constant_array(op: ConstantOp, weights: WeightStore) -> Array:
    """The value of a constant, read only. Raises: KeyError when the weight store lacks its bytes."""
    return array_of(op.value, weights)


def constant_of(value: SSAValue, weights: WeightStore) -> Array | None:
    """The array of a constant value; None for other values."""
    return constant_array(value.owner, weights) if isinstance(value.owner, ConstantOp) else None


@irdl_op_definition
class YieldOp(GraphOp):
    """
    End the region of a `graph` op with the values that the op returns.

    ```mlir
    graph.yield %v : tensor<4xf32>
    ```
    """

    name = "graph.yield"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    values = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue | Operation]):
        super().__init__(operands=[values])

    def infer(self) -> Sequence[Attribute]:
        return []


class ClosedRegionOp(GraphOp, ABC):
    """The base of ops with a closed region, whose arguments are the operands; (C1) and (C2) are common."""

    KIND: ClassVar[Kind] = Kind.STRUCTURE

    inputs = var_operand_def()
    outputs = var_result_def()
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())

    def __init__(self, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], body: Region):
        super().__init__(operands=[inputs], result_types=[result_types], regions=[body])

    @property
    def yield_op(self) -> YieldOp:
        """The terminator of the region."""
        return cast(YieldOp, self.body.block.last_op)

    def infer(self) -> Sequence[Attribute]:
        return self.yield_op.operand_types

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        pairs = zip(self.body.block.arg_types, self.operand_types, strict=True)
        return [*pairs, *zip(self.yield_op.operand_types, self.result_types, strict=True)]

    def check(self) -> None:
        block = self.body.block
        if [arg.type for arg in block.args] != list(self.operand_types):  # (C1)
            raise VerifyException("the region's arguments must have the types of the operands")
        if not isinstance(last := block.last_op, YieldOp):  # (C2)
            raise VerifyException(
                f"the region must end in graph.yield, found {last.name if last else 'none'}"
            )
        if len(last.operands) != len(self.results):
            raise VerifyException(f"expected {len(self.results)} yielded values, found {len(last.operands)}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def parse_binding() -> tuple[Parser.Argument, SSAValue]:
            name = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            type = parser.parse_type()
            return name.resolve(type), parser.resolve_operand(operand, type)

        bindings = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_binding)
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region([argument for argument, _ in bindings])
        op = cls([operand for _, operand in bindings], types, body)
        if attributes is not None:
            op.attributes = dict(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        def print_binding(binding: tuple[SSAValue, SSAValue]) -> None:
            printer.print_ssa_value(binding[0])
            printer.print_string(" = ")
            printer.print_ssa_value(binding[1])
            printer.print_string(" : ")
            printer.print_attribute(binding[1].type)

        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(list(zip(self.body.block.args, self.inputs, strict=True)), print_binding)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.result_types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class FusedOp(ClosedRegionOp):
    """
    A kernel: ops in a closed region, whose arguments are the operands, compiled as a single function.

    ```mlir
    %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      graph.yield %a : tensor<4xf32>
    }
    ```
    Constraints:
      (C1) one block, an argument an operand, of its type.
      (C2) the block ends in a `graph.yield` of the results.
    """

    name = "graph.fused"


@irdl_op_definition
class CompositeOp(ClosedRegionOp):
    """
    The ops of a pattern match as a single op: for a backend to compute, or for a pass to treat as a whole.

    `ops` are the names of the ops in the pattern's order, `pattern` is the name of the entry in its table.

    ```mlir
    %y = graph.composite (%a = %x : tensor<4xf32>) -> (tensor<4xf32>)
        attributes {ops = "relu_", pattern = "acme.relu"} {
      %r = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
      graph.yield %r : tensor<4xf32>
    }
    ```
    Constraints:
      (C1) one block, an argument an operand, of its type.
      (C2) the block ends in a `graph.yield` of the results.
    Source: Relay's composite functions.
    """

    name = "graph.composite"


def _tuple_of(values: Sequence[SSAValue]) -> TupleType:
    return TupleType(tuple(cast(TypeAttribute, value.type) for value in values))


@irdl_op_definition
class TupleOp(GraphOp):
    """
    Several values as one.

    ```mlir
    %t = graph.tuple %a, %b : tensor<2xf32>, tensor<3xi64>
    %unit = graph.tuple ()
    ```
    """

    name = "graph.tuple"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    fields = var_operand_def()
    result = result_def(TupleType)

    traits = traits_def(Pure())

    def __init__(self, fields: Sequence[SSAValue]):
        super().__init__(operands=[fields], result_types=[_tuple_of(fields)])

    def infer(self) -> Sequence[Attribute]:
        return [_tuple_of(self.fields)]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return [(self.result.type, _tuple_of(self.fields))]

    @classmethod
    def parse(cls, parser: Parser) -> TupleOp:
        position = parser.pos
        if parser.parse_optional_punctuation("("):
            parser.parse_punctuation(")")
            op = cls(())
            op.attributes = dict(parser.parse_optional_attr_dict())
            return op
        operands = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
        op = cls(parser.resolve_operands(operands, types, position))
        op.attributes = dict(attributes)
        return op

    def print(self, printer: Printer) -> None:
        if not self.fields:
            printer.print_string(" ()")
            printer.print_op_attributes(self.attributes)
            return
        printer.print_string(" ")
        printer.print_list(self.fields, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)


@irdl_op_definition
class GetOp(GraphOp):
    """
    A field of a tuple.

    ```mlir
    %b = graph.get %t [1] : tuple<tensor<2xf32>, tensor<3xi64>> -> tensor<3xi64>
    ```
    Constraints:
      (C1) `index` names a field of the tuple.
    """

    name = "graph.get"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    input = operand_def(OrUnknown(TupleType))
    index = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$input `[` $index `]` attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, index: int):
        fields = cast(TupleType, input.type).types.data
        super().__init__(
            operands=[input], properties={"index": int_attr(index)}, result_types=[fields[index]]
        )

    def infer(self) -> Sequence[Attribute]:
        return [cast(TupleType, self.input.type).types.data[self.index.value.data]]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return [(self.result.type, self.infer()[0])]

    def check(self) -> None:
        fields = len(cast(TupleType, self.input.type).types)
        if not 0 <= (index := self.index.value.data) < fields:  # (C1)
            raise VerifyException(f"index must be in 0..{fields - 1}, found {index}")


@irdl_op_definition
class AssertOp(GraphOp):
    """
    Stop the call with an error when two dimensions differ at run time.

    ```mlir
    graph.assert "S" equals "2 * N", "node \\"Add_3\\" adds sequences of different lengths"
    ```
    Constraints:
      (C1) both sides are dimension expressions without unknown parts.
    """

    name = "graph.assert"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    lhs = prop_def(StringAttr)
    rhs = prop_def(StringAttr)
    message = prop_def(StringAttr)

    assembly_format = "$lhs `equals` $rhs `,` $message attr-dict"

    def __init__(self, lhs: Dim, rhs: Dim, message: str):
        super().__init__(
            properties={
                "lhs": StringAttr(str(lhs)),
                "rhs": StringAttr(str(rhs)),
                "message": StringAttr(message),
            }
        )

    def infer(self) -> Sequence[Attribute]:
        return []

    def check(self) -> None:
        for side in (self.lhs, self.rhs):
            try:
                known = not Dim.of(side.data).is_unknown
            except ValueError as error:
                raise VerifyException(str(error)) from None
            if not known:  # (C1)
                raise VerifyException(f"a checked dimension must be known by name, found {side.data!r}")


@irdl_op_definition
class ExternalOp(GraphOp):
    """
    A part of the model that a backend computes: a call of the function with its ops.

    The function's attribute `graph.backend` names the backend.

    ```mlir
    %y = graph.external @onnxruntime_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "graph.external"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    callee = prop_def(SymbolRefAttr)
    arguments = var_operand_def()
    outputs = var_result_def()

    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[arguments], properties={"callee": SymbolRefAttr(callee)}, result_types=[result_types]
        )

    def infer(self) -> Sequence[Attribute]:
        return self.result_types  # those of the function
