"""`adt.make`: a value of a data type, from a constructor and its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FunctionType, SymbolRefAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.adt.data import DataType
from stepwell.dialects.adt.definitions import definition_of
from stepwell.dialects.graph.base import GraphOp, Kind, OrUnknown
from stepwell.runtime.errors import StepwellError


@irdl_op_definition
class MakeOp(GraphOp):
    """
    A value of a data type: a constructor applied to the values of its fields.

    ```mlir
    %l = adt.make @List::@Cons(%x, %t) : (i64, !adt.data<@List, i64>) -> !adt.data<@List, i64>
    ```
    Constraints:
      (C1) the constructor is one of the result's data type.
      (C2) there is one operand a field, of its type; dimensions of which one is unknown fit.
    """

    name = "adt.make"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    constructor = prop_def(SymbolRefAttr)
    inputs = var_operand_def()
    result = result_def(OrUnknown(DataType))

    traits = traits_def(Pure())
    assembly_format = "$constructor `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)"

    def __init__(self, constructor: str, inputs: Sequence[SSAValue], type: DataType):
        """Args: `constructor` is the name within the data type."""
        symbol = SymbolRefAttr(type.symbol, [constructor])
        super().__init__(operands=[inputs], properties={"constructor": symbol}, result_types=[type])

    @property
    def name_of_constructor(self) -> str:
        """The name of the constructor within its data type."""
        return self.constructor.nested_references.data[-1].data

    def infer(self) -> Sequence[Attribute]:
        return self.result_types  # the arguments of the data type, of which the fields may say nothing

    def check(self) -> None:
        type = self.result.type
        definition = definition_of(type, self)
        path = [part.data for part in self.constructor.nested_references]
        if self.constructor.root_reference.data != type.symbol or len(path) != 1:  # (C1)
            raise VerifyException(f"{self.constructor} is no constructor of {type}")
        fields = definition.fields(path[0], type)
        if not fits(found := self.operand_types, fields):  # (C2)
            made = FunctionType.from_lists(fields, [type])
            message = (
                f"{path[0]} of this type is made by {made}, found {FunctionType.from_lists(found, [type])}"
            )
            raise StepwellError("type-mismatch", self, message)


def fits(found: Sequence[Attribute], expected: Sequence[Attribute]) -> bool:
    """Whether values of types may stand where others are expected: as many, equal where both are known."""
    from stepwell.dialects.graph.control_flow import joined_type

    return len(found) == len(expected) and all(
        a == b or joined_type(a, b) is not None for a, b in zip(found, expected, strict=True)
    )
