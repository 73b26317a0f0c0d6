"""
Type variables of polymorphic functions and data types, and holes: types that are not known yet.

A variable is declared where it is bound: by the attribute `graph.type_params = #graph.params<["A"]>` of a
function, by `<"A">` after the name of a data type. Uses give one argument for each, in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from re import sub
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, FunctionType, StringAttr, TensorType, TupleType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

TYPE_PARAMS = "graph.type_params"
"""The attribute of a polymorphic function that declares its type variables, a `#graph.params`."""
TYPE_KIND = "type"
MOST_PARTS = 1024
"""The most types inside a type; a larger one is an error: types that double at each step have no end."""
ELEMENT_KINDS = ("any", "float", "integer", "number", "bool")
"""The kinds of element variables, by the element types that they range over."""


class _Named(ParametrizedAttribute):
    """A type of a quoted name. Each class declares the field anew: xDSL compares declared fields alone."""

    label: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.label.data)


@irdl_attr_definition
class VarType(_Named, TypeAttribute):
    """
    A type variable of the function or data type around; also the element of a tensor.

    ```mlir
    !graph.var<"A">
    ```
    """

    name = "graph.var"

    label: StringAttr = param_def()

    def __init__(self, label: str):
        super().__init__(StringAttr(label))

    def verify(self) -> None:
        note_kinds()


@irdl_attr_definition
class HoleType(_Named, TypeAttribute):
    """
    A type, or an element type, that is not known yet; equal names in a function are the same unknown.

    ```mlir
    !graph.hole<"t">
    ```
    """

    name = "graph.hole"

    label: StringAttr = param_def()

    def __init__(self, label: str):
        super().__init__(StringAttr(label))

    def verify(self) -> None:
        _HOLES.add(type(self))

    @staticmethod
    def exist() -> bool:
        """Whether this process has made a hole: if not, no module is searched for one."""
        return bool(_HOLES)


_HOLES: set[type[HoleType]] = set()
_KINDS: set[str] = set()


def note_kinds() -> None:
    """Note that this process has made a type whose kind is checked: a variable, one applied to others."""
    _KINDS.add("made")


def have_kinds() -> bool:
    """Whether there are types whose kinds must be checked; otherwise no module is searched for such types."""
    return bool(_KINDS)


def nothing_said() -> HoleType:
    """An unknown element type, for `infer_operands` of ops whose results do not determine it."""
    return HoleType("?")


@irdl_attr_definition
class ParamsAttr(ParametrizedAttribute):
    """
    Declared type variables with their kinds: a type, or an element type of a set (`any`, `float`, …).

    ```mlir
    #graph.params<["A", "E": float]>
    ```
    """

    name = "graph.params"

    labels: ArrayAttr[StringAttr] = param_def()
    kinds: ArrayAttr[StringAttr] = param_def()

    @staticmethod
    def of(kinds: Mapping[str, str]) -> ParamsAttr:
        """The attribute of variables with their kinds, in order."""
        return ParamsAttr(
            *(ArrayAttr([StringAttr(text) for text in each]) for each in (kinds, kinds.values()))
        )

    @property
    def names(self) -> list[str]:
        """The names of the variables, in the order of their declaration."""
        return [label.data for label in self.labels]

    @property
    def by_name(self) -> dict[str, str]:
        """The kind of each variable."""
        return dict(zip(self.names, (kind.data for kind in self.kinds), strict=True))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if (params := parse_params(parser, AttrParser.Delimiter.SQUARE)) is None:
                parser.raise_error('expected declarations such as ["A", "E": float]')
        return [params.labels, params.kinds]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets(), printer.in_square_brackets():
            print_params(self, printer)

    def verify(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise VerifyException(f"a type variable is declared twice in {', '.join(self.names)}")
        for name, kind in self.by_name.items():
            if kind not in (TYPE_KIND, *ELEMENT_KINDS):
                kinds = ", ".join((TYPE_KIND, *ELEMENT_KINDS))
                raise VerifyException(f"the kind of {name} must be one of {kinds}, found {kind}")


def parse_params(parser: AttrParser, delimiter: AttrParser.Delimiter) -> ParamsAttr | None:
    """A `#graph.params` as `"A", "E": float` between delimiters; None where the text has something else."""

    def param() -> tuple[StringAttr, StringAttr]:
        name = StringAttr(parser.parse_str_literal())
        kind = parser.parse_identifier() if parser.parse_optional_punctuation(":") else TYPE_KIND
        return name, StringAttr(kind)

    pairs = parser.parse_optional_comma_separated_list(delimiter, param)
    if pairs is None:
        return None
    return ParamsAttr(ArrayAttr([name for name, _ in pairs]), ArrayAttr([kind for _, kind in pairs]))


def print_params(params: ParamsAttr, printer: Printer) -> None:
    """Print `"A", "E": float`."""

    def param(item: tuple[str, str]) -> None:
        printer.print_string_literal(item[0])
        if item[1] != TYPE_KIND:
            printer.print_string(f": {item[1]}")

    printer.print_list(params.by_name.items(), param)


def parse_type_arguments(parser: Parser) -> ArrayAttr[Attribute] | None:
    """Type arguments `<tensor<f32>, i64>` after a symbol; None where there are none."""
    arguments = parser.parse_optional_comma_separated_list(Parser.Delimiter.ANGLE, parser.parse_type)
    return None if arguments is None else ArrayAttr(arguments)


def print_type_arguments(arguments: ArrayAttr[Attribute] | None, printer: Printer) -> None:
    """Print `<tensor<f32>, i64>`; nothing where there are none."""
    if arguments is not None:
        with printer.in_angle_brackets():
            printer.print_list(arguments.data, printer.print_attribute)


Types: TypeAlias = Callable[[Attribute], Attribute]
"""A function from one type to another."""

_COMPOUND: dict[str, tuple[Callable[[Attribute], Sequence[Attribute]], Callable[..., Attribute]]] = {}
"""For types of other dialects that have types inside: their parts, and the type with other parts."""


def has_parts(
    name: str, parts: Callable[[Attribute], Sequence[Attribute]], rebuilt: Callable[..., Attribute]
) -> None:
    """Register a compound type: a function to its parts, and a function from the type and new parts."""
    _COMPOUND[name] = parts, rebuilt


def type_parts(type: Attribute) -> Sequence[Attribute]:
    """The types directly inside a type: fields, arguments and results, elements; none for most."""
    match type:
        case TensorType():
            return [type.element_type]
        case TupleType():
            return type.types.data
        case FunctionType():
            return [*type.inputs, *type.outputs]
        case _:
            return _COMPOUND[type.name][0](type) if type.name in _COMPOUND else ()


def with_parts(type: Attribute, parts: Sequence[Attribute]) -> Attribute:
    """A type with other types directly inside, in the order of `type_parts`."""
    match type:
        case TensorType():
            return TensorType(parts[0], type.get_shape(), type.encoding)
        case TupleType():
            return TupleType(tuple(cast("Sequence[TypeAttribute]", parts)))
        case FunctionType():
            count = len(type.inputs)
            return FunctionType.from_lists(list(parts[:count]), list(parts[count:]))
        case _:
            return _COMPOUND[type.name][1](type, parts)


def mapped_type(type: Attribute, function: Types) -> Attribute:
    """A type with a function applied to each type inside, innermost first, then to itself."""
    parts = type_parts(type)
    if parts:
        new = [mapped_type(part, function) for part in parts]
        if any(a is not b for a, b in zip(parts, new, strict=True)):
            type = with_parts(type, new)
    return function(type)


def substituted(type: Attribute, arguments: Mapping[str, Attribute]) -> Attribute:
    """A type with arguments in the places of type variables."""

    def replace(part: Attribute) -> Attribute:
        return arguments.get(part.label.data, part) if isinstance(part, VarType) else part

    return mapped_type(type, replace) if arguments else type


def without_sizes(type: Attribute) -> Attribute:
    """A type whose tensors have their ranks, and no sizes: equal for types that differ in sizes alone."""

    def open_sizes(part: Attribute) -> Attribute:
        if not isinstance(part, TensorType):
            return part
        tensor = cast("TensorType[Attribute]", part)
        return TensorType(tensor.element_type, [DYNAMIC_INDEX] * len(tensor.get_shape()))

    return mapped_type(type, open_sizes)


def types_inside(type: Attribute) -> Iterator[Attribute]:
    """A type and all types inside it."""
    pending = [type]
    while pending:
        yield (each := pending.pop())
        pending += type_parts(each)


def variables_of(types: Iterable[Attribute]) -> list[str]:
    """The names of the type variables in types, each once, in the order of their first use."""
    inside = (part for type in types for part in types_inside(type))
    return list(dict.fromkeys(part.label.data for part in inside if isinstance(part, VarType)))


def is_polymorphic(type: Attribute) -> bool:
    """Whether a type has a type variable inside."""
    return any(isinstance(part, VarType) for part in types_inside(type))


def params_of(function: Operation) -> ParamsAttr | None:
    """The declared type variables of a function; None where it has none."""
    params = function.attributes.get(TYPE_PARAMS)
    return params if isinstance(params, ParamsAttr) else None


def readable_type(type: Attribute) -> str:
    """A type as part of a name: `List.f32` for a list of scalars."""
    text = str(type).replace("!adt.data<@", "").replace("!ref.", "").replace("tensor", "")
    return sub(r"\W+", ".", text).strip(".")
