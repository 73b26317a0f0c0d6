"""The base of ops of `linalg_ext`: graph ops into tensors, which are verified and expanded as these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, UnrealizedConversionCastOp, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.relations import differ, shape_text
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.linalg_ext.forms import FormsOp
from stepwell.dialects.types import Tensor, bool_attr, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

SizeOf: TypeAlias = Callable[[SSAValue, int], Dim]
"""The size of a dimension of a tensor."""
SEGMENTS = "operandSegmentSizes"


class GraphFormsOp(FormsOp):
    """
    An op with the operands and properties of a graph op, whose results it writes into tensors.

    Level 2 has neither names of dimensions nor signs of integers. Sizes that the graph op has as properties
    are those of `written`. A property `of` is the type of elements that are stored as another one.
    """

    GRAPH_OP: ClassVar[type[GraphOp]]
    PLAIN: ClassVar[frozenset[str]] = frozenset()
    """The operands whose elements are not of type `of`."""
    UNITS: ClassVar[Mapping[str, str]] = {}
    """Unit attributes, and the properties of the graph op that are true where these are present."""

    @classmethod
    def writing(cls, op: GraphOp, inits: Sequence[SSAValue], **others: SSAValue | None) -> Self:
        """The op that writes what a graph op computes into `inits`; `others` replace its operands by name."""
        own = cls.get_irdl_definition()
        properties = {name: op.properties[name] for name in own.properties if name in op.properties}
        properties.pop(SEGMENTS, None)
        for unit, name in cls.UNITS.items():
            properties.pop(unit, None)
            if op.properties[name] == bool_attr(True):
                properties[unit] = UnitAttr()
        element = tensor_of(op.results[0]).element_type
        if signless(element) != element:
            properties["of"] = element
        given: dict[str, Any] = {"init": inits[0], "inits": inits, **others}
        operands = [given[name] if name in given else getattr(op, name) for name, _ in own.operands]
        types = [init.type for init in inits]
        results = types if len(types) == len(own.results) else [types]
        return cls.build(operands=operands, result_types=results, properties=properties)

    @property
    def written(self) -> Sequence[SSAValue]:
        """The tensors for the results: the operand `init`, or `inits` for several."""
        init = cast("SSAValue | None", getattr(self, "init", None))
        return cast("Sequence[SSAValue]", getattr(self, "inits", ())) if init is None else (init,)

    def slots(self) -> list[tuple[str, SSAValue | None]]:
        """The operands of the graph op with their names, and None for absent optional ones."""
        slots: list[tuple[str, SSAValue | None]] = []
        for name, _ in self.GRAPH_OP.get_irdl_definition().operands:
            value = cast("SSAValue | Sequence[SSAValue] | None", getattr(self, name, None))
            slots += [(name, each) for each in (value if isinstance(value, Sequence) else [value])]
        return slots

    def size_properties(self, sizes: Sequence[Sequence[Dim]]) -> Mapping[str, Attribute]:
        """The properties of the graph op that follow from the sizes of `written`."""
        return {}

    def graph_properties(self, sizes: Sequence[Sequence[Dim]]) -> dict[str, Attribute]:
        """All properties of the graph op, by the sizes of `written`."""
        definitions = self.GRAPH_OP.get_irdl_definition().properties
        defaults = {
            name: own.default_value for name, own in definitions.items() if own.default_value is not None
        }
        same = {name: value for name, value in self.properties.items() if name in {*definitions} - {SEGMENTS}}
        units = {name: bool_attr(unit in self.properties) for unit, name in self.UNITS.items()}
        return {**defaults, **same, **units, **self.size_properties(sizes)}

    def graph_op(self, size_of: SizeOf) -> tuple[GraphOp, list[Operation]]:
        """
        The graph op, not inserted, and the casts of its operands and of `written` to types of level 1.

        Raises: VerifyException for operands or properties that the graph op does not have.
        """
        casts: list[Operation] = []

        def cast_to(value: SSAValue, type: Attribute) -> SSAValue:
            casts.append(UnrealizedConversionCastOp.get([value], [type]))
            return casts[-1].results[0]

        def sizes_of(value: SSAValue) -> list[Dim]:
            return [size_of(value, position) for position in range(len(dims_of(value.type)))]

        slots = self.slots()
        operands = [
            cast_to(value, tensor_type(self.element_of(name, value), sizes_of(value)))
            for name, value in slots
            if value is not None
        ]
        properties = self.graph_properties([sizes_of(init) for init in self.written])
        if AttrSizedOperandSegments(as_property=True) in self.GRAPH_OP.get_irdl_definition().options:
            properties[SEGMENTS] = DenseArrayBase.from_list(
                i32, [int(value is not None) for _, value in slots]
            )
        types = [init.type for init in self.written]
        made = self.GRAPH_OP.create(operands=operands, result_types=types, properties=properties)
        try:
            made.set_result_types()
        except VerifyException:
            _erase([made, *casts])
            raise
        for init, result in zip(self.written, made.results, strict=True):
            cast_to(init, result.type)
        return made, casts

    def element_of(self, name: str, value: SSAValue) -> Attribute:
        """The element type of an operand at level 1. Raises: VerifyException for one not stored so."""
        stored = tensor_of(value).element_type
        if (of := self.properties.get("of")) is None or name in self.PLAIN:
            return stored
        if signless(of) != stored:
            raise VerifyException(f"elements of {of} must be stored as {signless(of)}, found {stored}")
        return of

    def verify_(self) -> None:
        made, casts = self.graph_op(lambda value, position: dims_of(value.type)[position])  # (C1)
        types = [result.type for result in made.results]
        _erase([made, *casts])
        for init, result, wanted in zip(self.written, self.results, types, strict=True):  # (C2)
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
