"""The op classes of foreign ops, each made from its signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.foreign.signature import NO_DEFAULT, Argument, Signature
from stepwell.dialects.foreign.values import Value, attribute_of, expected_attribute, value_of
from stepwell.dialects.types import bool_attr
from stepwell.runtime.dims import Dim

SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_PRESENT = ".present"
"""The end of the name of an attribute that says which tensors of a list are given."""


class ForeignOp(IRDLOperation):
    """
    An op of another framework, with the arguments of its signature.

    Tensors are operands, all other arguments are attributes under the signature's names; a value that equals
    the signature's default is left out.
    """

    SIGNATURE: ClassVar[Signature]

    @classmethod
    def make(cls, arguments: dict[str, object], result_types: Sequence[Attribute]) -> Self:
        """
        An op from its arguments: values of the IR for tensors, Python values for others.

        Raises: TypeError for an argument that the signature does not have, or of another type.
        """
        known = cls.SIGNATURE.by_name
        if unknown := arguments.keys() - known.keys():
            raise TypeError(f"{cls.SIGNATURE.name} has no argument `{min(unknown)}`")
        operands: list[SSAValue | Sequence[SSAValue] | None] = []
        attributes: dict[str, Attribute] = {}
        for name, argument in known.items():
            given = arguments.get(name, argument.default)
            if argument.is_tensor:
                operands.append(_operand(argument, given, attributes))
            elif given is not argument.default and given != argument.default:
                attributes[name] = attribute_of(cast(Value, given), argument)
            elif type(given) is not type(argument.default):  # 0 for False
                attributes[name] = attribute_of(cast(Value, given), argument)
        results = cls.SIGNATURE.results
        types = [result_types] if len(results) == 1 and results[0].is_list else result_types
        return cls.build(operands=operands, result_types=list(types), attributes=attributes)

    def tensor(self, name: str) -> SSAValue | None:
        """An operand by its argument's name; None for an absent one."""
        return cast("SSAValue | None", getattr(self, _field(name)))

    def tensors(self, name: str) -> list[SSAValue | None]:
        """The operands of a list argument, None for an absent one."""
        given = iter(cast("Sequence[SSAValue]", getattr(self, _field(name))))
        present = self.attributes.get(name + _PRESENT)
        if not isinstance(present, ArrayAttr):
            return list(given)
        flags = cast("ArrayAttr[IntegerAttr]", present)
        return [next(given) if flag.value.data else None for flag in flags]

    def value(self, name: str) -> Value:
        """The value of an argument that is no operand; the signature's default for one that is left out."""
        argument = self.SIGNATURE.by_name[name]
        if (attribute := self.attributes.get(name)) is not None:
            return value_of(attribute, argument)
        return None if argument.default is NO_DEFAULT else cast(Value, argument.default)

    def substitute(self, symbols: Mapping[str, Dim]) -> None:
        """Put sizes in place of symbols in the arguments that are sizes."""
        for name, argument in self.SIGNATURE.by_name.items():
            if (attribute := self.attributes.get(name)) is not None and not argument.is_tensor:
                value = _substituted(value_of(attribute, argument), symbols)
                self.attributes[name] = attribute_of(value, argument)

    def verify_(self) -> None:
        known = self.SIGNATURE.by_name
        dialect = f"{type(self).name.partition('.')[0]}."
        for name, attribute in self.attributes.items():
            if name in SEGMENTS or name.startswith(dialect) or name.endswith(_PRESENT):
                continue
            if (argument := known.get(name)) is None or argument.is_tensor:
                raise VerifyException(f"{self.SIGNATURE.name} has no argument `{name}`")
            if not expected_attribute(attribute, argument):
                kind = f"a list of {argument.base}" if argument.is_list else argument.base
                raise VerifyException(f"`{name}` must be {kind}, found {attribute}")
        for argument in self.SIGNATURE.arguments:
            if argument.is_required and not argument.is_tensor and argument.name not in self.attributes:
                raise VerifyException(f"{self.SIGNATURE.name} needs the argument `{argument.name}`")
            if argument.has_optional_items:
                self._verify_present(argument)

    def _verify_present(self, argument: Argument) -> None:
        """Require as many flags of given tensors as there are operands."""
        present = self.attributes.get(argument.name + _PRESENT)
        operands = len(cast("Sequence[SSAValue]", getattr(self, _field(argument.name))))
        if present is None:
            return
        flags = cast("ArrayAttr[Attribute]", present).data if isinstance(present, ArrayAttr) else ()
        if sum(isinstance(f, IntegerAttr) and f.value.data != 0 for f in flags) != operands:
            raise VerifyException(f"`{argument.name}{_PRESENT}` must be true for {operands} tensors")


def _operand(
    argument: Argument, given: object, attributes: dict[str, Attribute]
) -> SSAValue | Sequence[SSAValue] | None:
    """The operand or operands of a tensor argument; records which tensors of a list are given."""
    if given is None or given is NO_DEFAULT:
        if not (argument.is_optional or argument.is_list):
            raise TypeError(f"the argument `{argument.name}` is missing")
        return [] if argument.is_list else None
    if not argument.is_list:
        return cast(SSAValue, given)
    items = cast("Sequence[SSAValue | None]", given)
    if argument.has_optional_items:
        flags = [bool_attr(item is not None) for item in items]
        attributes[argument.name + _PRESENT] = ArrayAttr(flags)
    return [item for item in items if item is not None]


def _substituted(value: Value, symbols: Mapping[str, Dim]) -> Value:
    """A value with sizes in place of symbols."""
    if isinstance(value, Dim):
        return value.substitute(symbols)
    if isinstance(value, tuple | list):
        return tuple(_substituted(item, symbols) for item in cast("Sequence[Value]", value))
    return value


def _field(argument: str) -> str:
    """The name of the field of an operand, which no name of a base class is equal to."""
    return f"{argument}_operand"


def make_op_class(dialect: str, signature: Signature, base: type[ForeignOp] = ForeignOp) -> type[ForeignOp]:
    """The op class of a signature, named `DIALECT.NAME`."""
    body: dict[str, Any] = {
        "__doc__": f"`{signature.name}`.",
        "__module__": __name__,
        "name": f"{dialect}.{signature.name}",
    }
    groups = {"operand": 0, "result": 0}
    for argument in signature.tensors:
        groups["operand"] += argument.is_list or argument.is_optional
        one = opt_operand_def if argument.is_optional else operand_def
        body[_field(argument.name)] = var_operand_def() if argument.is_list else one()
    for position, result in enumerate(signature.results):
        groups["result"] += result.is_list or result.is_optional
        one = opt_result_def if result.is_optional else result_def
        body[f"output{position}"] = var_result_def() if result.is_list else one()
    options: list[object] = []
    if groups["operand"] > 1:
        options.append(AttrSizedOperandSegments())
    if groups["result"] > 1:
        options.append(AttrSizedResultSegments())
    title = "".join(part.capitalize() for part in signature.name.replace("_", ".").split("."))
    made = irdl_op_definition(type(f"{title}Op", (base,), body | {"irdl_options": tuple(options)}))
    made.SIGNATURE = signature  # xDSL takes no other fields in the body
    return made
