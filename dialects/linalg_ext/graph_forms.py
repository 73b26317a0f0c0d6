"""Ops of `linalg_ext` that are graph ops into tensors, and are verified and expanded as these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnrealizedConversionCastOp, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_prop_def, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.relations import differ, shape_text
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.linalg_ext.forms import FormsOp
from stepwell.dialects.types import Tensor, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

SizeOf: TypeAlias = Callable[[SSAValue, int], Dim]
"""The size of a dimension of a tensor."""
SEGMENTS = "operandSegmentSizes"


class GraphFormsOp(FormsOp):
    """
    An op with the operands and properties of a graph op, whose results it writes into the tensors `inits`.

    Level 2 has neither names of dimensions nor signs of integers. Sizes that the graph op has as properties
    are those of `inits`; `of` is the type of its elements where these are stored as another one.
    """

    GRAPH_OP: ClassVar[type[GraphOp]]
    PLAIN: ClassVar[frozenset[str]] = frozenset()
    """The operands whose elements are not of type `of`."""

    inits = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    of = opt_prop_def(Attribute)

    def size_properties(self, sizes: Sequence[Sequence[Dim]]) -> Mapping[str, Attribute]:
        """The properties of the graph op that say the sizes of its results, by the sizes of `inits`."""
        return {}

    @classmethod
    def writing(cls, op: GraphOp, inits: Sequence[SSAValue]) -> GraphFormsOp:
        """The op that writes what a graph op computes into `inits`."""
        names = {name for name, _ in cls.get_irdl_definition().properties.items()}
        properties = {name: value for name, value in op.properties.items() if name in names - {SEGMENTS}}
        element = tensor_of(op.results[0]).element_type
        if signless(element) != element:
            properties["of"] = element
        if AttrSizedOperandSegments(as_property=True) in cls.get_irdl_definition().options:
            given = [int(getattr(op, name) is not None) for name, _ in op.get_irdl_definition().operands]
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, [*given, len(inits)])
        types = [init.type for init in inits]
        return cls.create(operands=[*op.operands, *inits], result_types=types, properties=properties)

    def graph_op(self, size_of: SizeOf) -> tuple[GraphOp, list[Operation]]:
        """
        The graph op, not inserted, and the casts of its operands and of `inits` to types of level 1.

        Raises: VerifyException for operands or properties that the graph op does not have.
        """
        casts: list[Operation] = []

        def cast_to(value: SSAValue, type: Attribute) -> SSAValue:
            casts.append(UnrealizedConversionCastOp.get([value], [type]))
            return casts[-1].results[0]

        definition, operands = self.GRAPH_OP.get_irdl_definition(), list[SSAValue]()
        slots = [cast("SSAValue | None", getattr(self, name, None)) for name, _ in definition.operands]
        for value, (name, _) in zip(slots, definition.operands, strict=True):
            if value is not None:
                element = tensor_of(value).element_type if name in self.PLAIN else self._element(value)
                dims = [size_of(value, position) for position in range(len(dims_of(value.type)))]
                operands.append(cast_to(value, tensor_type(element, dims)))
        sizes = [[size_of(init, d) for d in range(len(dims_of(init.type)))] for init in self.inits]
        properties = {name: value for name, value in self.properties.items() if name in definition.properties}
        properties |= self.size_properties(sizes)
        if SEGMENTS in properties:
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, [int(slot is not None) for slot in slots])
        types = [init.type for init in self.inits]
        made = self.GRAPH_OP.create(operands=operands, result_types=types, properties=properties)
        try:
            made.set_result_types()
        except VerifyException:
            _erase([made, *casts])
            raise
        for init, result in zip(self.inits, made.results, strict=True):
            cast_to(init, result.type)
        return made, casts

    def _element(self, value: SSAValue) -> Attribute:
        """The element type of an operand at level 1."""
        stored = tensor_of(value).element_type
        if self.of is None:
            return stored
        if signless(self.of) != stored:
            raise VerifyException(
                f"elements of {self.of} must be stored as {signless(self.of)}, found {stored}"
            )
        return self.of

    def verify_(self) -> None:
        made, casts = self.graph_op(lambda value, position: dims_of(value.type)[position])  # (C1)
        types = [result.type for result in made.results]
        _erase([made, *casts])
        for init, result, wanted in zip(self.inits, self.outputs, types, strict=True):  # (C2)
            dims, found = dims_of(wanted), dims_of(init.type)
            differs = len(dims) != len(found) or any(map(differ, dims, found))
            element = signless(cast(Tensor, wanted).element_type)
            if differs or tensor_of(init).element_type != element or result.type != init.type:
                text = f"{shape_text(dims)} of {element}"
                raise VerifyException(f"result and init must be {text}, found {result.type} and {init.type}")


def _erase(ops: Sequence[Operation]) -> None:
    """Drop the operands of ops that were never inserted."""
    for op in ops:
        op.drop_all_references()
