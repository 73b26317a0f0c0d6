"""Advice about matches and data types that are valid, and not what their author can have meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute, Operation

from stepwell.dialects.adt.data import DataOp, DataType
from stepwell.dialects.adt.definitions import definition_of, definitions_of
from stepwell.dialects.adt.exhaustive import unreachable_cases
from stepwell.dialects.adt.match import MatchOp
from stepwell.dialects.incomplete import is_incomplete
from stepwell.dialects.type_variables import VarType, type_parts
from stepwell.runtime.errors import StepwellError

_Key: TypeAlias = tuple[str, tuple[bool, ...]]
"""A data type by its name, and for each argument whether there is a value of it."""


def cases_without_values(module: Operation) -> Iterator[tuple[MatchOp, str]]:
    """The matches of a valid module with a case that no value reaches, and why; a message for each case."""
    for op in module.walk():
        if not isinstance(op, MatchOp) or is_incomplete(op):
            continue
        with suppress(StepwellError):  # too large to say: of a partial match
            for case, other in unreachable_cases(op.patterns.data, op.value.type, op):
                by = f"case {other} covers it" if other else "the cases before cover it together"
                yield op, f"case {case} can never be reached: {by}"


def data_without_values(module: Operation) -> Iterator[tuple[DataOp, str]]:
    """The data types of a valid module that have constructors and no finite value, each with a message."""
    search = _Search(module)
    for name, op in definitions_of(module).items():
        if op.constructors and not search.has_value((name, (True,) * len(op.variables))):
            yield op, f"@{name} has no finite value: each constructor needs a value of a type without any"


@dataclass
class _Search:
    """The least set of data types with finite values, grown until nothing is added."""

    module: Operation
    found: dict[_Key, bool] = field(default_factory=dict[_Key, bool])

    def has_value(self, key: _Key) -> bool:
        """Whether a data type has a finite value, given of which type arguments there are values."""
        self.found.setdefault(key, False)
        size = (0, 0)
        while size != (size := (len(self.found), sum(self.found.values()))):
            for each in list(self.found):
                self.found[each] = self.found[each] or self._is_made(*each)
        return self.found[key]

    def _is_made(self, name: str, arguments: tuple[bool, ...]) -> bool:
        """Whether a constructor has fields of which there are values, as far as is known."""
        definition = definition_of(DataType.of(name, *(VarType("") for _ in arguments)), self.module)
        variables = dict(zip(definition.variables, arguments, strict=True))
        return any(all(self._all(each.fields.data, variables)) for each in definition.constructors)

    def _has(self, type: Attribute, variables: Mapping[str, bool]) -> bool:
        """Whether there is a value of a type, as far as is known."""
        if isinstance(type, VarType):
            return variables.get(type.label.data, True)
        if isinstance(type, DataType):
            return self.found.setdefault((type.symbol, self._all(type.arguments.data, variables)), False)
        return type.name not in ("tuple", "ref.cell") or all(self._all(type_parts(type), variables))

    def _all(self, types: Sequence[Attribute], variables: Mapping[str, bool]) -> tuple[bool, ...]:
        return tuple(self._has(type, variables) for type in types)
