"""Ops, attributes and types of plugins: their base class, and the decorators that register them by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import NoneType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    OpDef,
    OptionalDef,
    VariadicDef,
    VerificationContext,
    irdl_attr_definition,
    irdl_op_definition,
)
from xdsl.utils.exceptions import PyRDLError, VerifyException

from stepwell.dialects._xdsl import DECORATED_ATTRIBUTES, DECORATED_OPS, is_fixed
from stepwell.dialects.attributes import AttributeLike, accepted
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.plugins import Registry, place_of

OpT = TypeVar("OpT", bound=IRDLOperation)
AttributeT = TypeVar("AttributeT", bound=Attribute)
T = TypeVar("T")

Operand: TypeAlias = SSAValue | Operation | Sequence[SSAValue | Operation] | None
"""An operand of a constructor; a sequence for a variadic one, None for an optional one that is absent."""

_NAME = re.compile(r"[a-z_]\w*(\.\w+)+")


class Op(GraphOp):
    """
    The base of a plugin's ops, built from operands in order and attributes by name.

    Results have the type of the first operand, unless `infer` says otherwise; `check` has the constraints
    that the definitions of operands and attributes cannot say.
    """

    KIND: ClassVar[Kind] = Kind.OPAQUE

    def __init__(self, *operands: Operand, **attributes: AttributeLike | None):
        definition = type(self).get_irdl_definition()
        _expect_operands(definition, operands)
        absent = [()] * (len(definition.operands) - len(operands))
        values = {name: value for name, value in attributes.items() if value is not None}
        properties, others = _defined(definition, values)
        super().__init__(
            operands=[*(() if value is None else value for value in operands), *absent],
            result_types=[() if is_variadic(result) else NoneType() for _, result in definition.results],
            properties=properties,
            attributes=others,
        )
        self.set_result_types()

    def infer(self) -> Attribute | Sequence[Attribute]:
        if self.results and not self.operands:
            raise VerifyException(f"{self.name} has no operand whose type its results have: define `infer`")
        return [self.operands[0].type for _ in self.results]


def built(
    op_class: type[OpT],
    inputs: Sequence[SSAValue | None],
    attributes: Mapping[str, AttributeLike],
    types: Sequence[Attribute] = (),
) -> OpT:
    """
    An op of a class without its constructor.

    Args: `inputs` by position, those of a last variadic operand one by one, None for absent ones; `types` of
    the results, by default as `infer` says, or that of the first operand.
    Raises: VerifyException for attributes that the class does not have, or lacks.
    """
    definition = op_class.get_irdl_definition()
    given = iter(inputs)
    groups = [
        [v for v in (given if is_variadic(d) else islice(given, 1)) if v is not None]
        for _, d in definition.operands
    ]
    first = next((value.type for value in inputs if value is not None), NoneType())
    properties, others = _defined(definition, attributes)
    made = op_class.build(
        operands=groups,
        result_types=list(types) or [first for _, result in definition.results if not is_variadic(result)],
        properties=properties,
        attributes=others,
    )
    if not types and isinstance(made, GraphOp):
        made.set_result_types()
    return made


def is_variadic(definition: object) -> bool:
    """Whether an operand or result has any number of values, beyond one that may be absent."""
    return isinstance(definition, VariadicDef) and not isinstance(definition, OptionalDef)


def _expect_operands(definition: OpDef, operands: Sequence[object]) -> None:
    """Require operands as a constructor takes them. Raises: VerifyException."""
    names = [name for name, _ in definition.operands]
    missing = [
        name for name, each in definition.operands[len(operands) :] if not isinstance(each, VariadicDef)
    ]
    kinds = (SSAValue, Operation, Sequence, type(None))
    wrong = [item for item in operands if isinstance(item, str) or not isinstance(item, kinds)]
    if len(operands) > len(names) or missing or wrong:
        found = f"found {wrong[0]!r}" if wrong else f"found {len(operands)}"
        wanted = f"{definition.name} has {len(names)} operands ({', '.join(names) or 'none'})"
        raise VerifyException(f"{wanted}, {found}; attributes are given by name")


def _defined(
    definition: OpDef, values: Mapping[str, AttributeLike]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """
    The properties and the attributes of an op. Raises: VerifyException for what is missing or not known.
    """
    tables = definition.properties, definition.attributes
    for name in values:
        if not any(name in table for table in tables):
            known = [name for table in tables for name in table]
            help = f"{did_you_mean(name, known)}it has {', '.join(known) or 'none'}"
            raise VerifyException(f"{definition.name} has no attribute `{name}`; {help}")
    for table in tables:
        for name, each in table.items():
            is_needed = not isinstance(each, OptionalDef) and each.default_value is None
            if is_needed and name not in values and not name.endswith("SegmentSizes"):
                raise VerifyException(f"{definition.name} needs the attribute `{name}`")
    properties, attributes = (
        {
            name: _accepted(definition.name, name, value, table[name].constr)
            for name, value in values.items()
            if name in table
        }
        for table in tables
    )
    return properties, attributes


def _accepted(op_name: str, name: str, value: AttributeLike, constraint: AttrConstraint) -> Attribute:
    """A value as an attribute of an op. Raises: VerifyException for one that the definition excludes."""
    made = accepted(value, constraint)
    try:
        constraint.verify(made, VerificationContext())
    except VerifyException as error:
        raise VerifyException(f"{op_name}: attribute `{name}`: {error}") from None
    return made


def op(name: str) -> Callable[[type[OpT]], type[OpT]]:
    """
    Register a class as the op of a name, in the dialect that the name begins with (`acme.cube`).

    Raises: StepwellError `bad-plugin` for what is no definition of an op, `name-taken`.
    """
    _expect_called(name, "op", "acme.cube")
    return partial(_defined_as, _OP, name)


def attribute(name: str) -> Callable[[type[AttributeT]], type[AttributeT]]:
    """
    Register a class as the attribute or type of a name, in the dialect that the name begins with.

    Raises: StepwellError `bad-plugin` for what is no definition of an attribute, `name-taken`.
    """
    _expect_called(name, "attribute", "acme.window")
    return partial(_defined_as, _ATTRIBUTE, name)


class _Kind(NamedTuple):
    """A kind of what dialects define."""

    decorator: str
    base: type
    bases: str
    """The base classes in words."""
    define: Callable[[Any], Any]
    table: Registry[str, Any]


_OP = _Kind(
    "op", IRDLOperation, "`Op` of stepwell.plugin, or xDSL's IRDLOperation", irdl_op_definition, DECORATED_OPS
)
_ATTRIBUTE = _Kind(
    "attribute", Attribute, "xDSL's ParametrizedAttribute or Data", irdl_attr_definition, DECORATED_ATTRIBUTES
)


def _defined_as(kind: _Kind, name: str, decorated: T) -> T:
    """
    A class with its name and definition, registered. Raises: StepwellError `bad-plugin`, `name-taken`.
    """
    found: object = decorated
    if not isinstance(found, type) or not issubclass(found, kind.base):
        shown = f"class {found.__name__}" if isinstance(found, type) else repr(found)
        message = f"@{kind.decorator} decorates a class that inherits from {kind.bases}, found {shown}"
        raise StepwellError("bad-plugin", place_of(decorated), message)
    _expect_name(name, decorated)
    try:
        cast("Any", decorated).name = name
        defined = kind.define(decorated)
    except (PyRDLError, AssertionError, TypeError, ValueError) as error:
        place = place_of(decorated)
        raise StepwellError("bad-plugin", place, f"the definition of {name} is not valid: {error}") from error
    kind.table.add(name, defined, defined)
    return defined


def _expect_called(name: object, decorator: str, example: str) -> None:
    """Require the name of a decorator, which stands without parentheses where it gets the class instead."""
    if not isinstance(name, str):
        message = f'@{decorator} needs a name: @{decorator}("{example}"), found {name!r}'
        raise StepwellError("bad-plugin", place_of(name), message)


def _expect_name(name: str, decorated: object) -> None:
    """Require a name in a dialect of plugins. Raises: StepwellError `bad-plugin`, `name-taken`."""
    if not _NAME.fullmatch(name):
        message = f"a name has a dialect and a word, such as acme.cube, found {name!r}"
        raise StepwellError("bad-plugin", place_of(decorated), message)
    if is_fixed(dialect := name.partition(".")[0]):
        message = f"there is a dialect named {dialect!r} already"
        help = "begin the name with a dialect of your own"
        raise StepwellError("name-taken", place_of(decorated), message, help=help)
