"""Conversion of Paddle's version-2 operators to version 3: the rules of `version_2.txt`, and exceptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from stepwell.dialects.foreign import Argument
from stepwell.frontend.paddle.schema import Operator


@dataclass(frozen=True)
class Rule:
    """The version-3 operator for an old operator, with the mapping of arguments."""

    target: str
    sources: Mapping[str, Sequence[str]]
    """For each argument, the inputs and attributes that can have its value; the first given one is used."""
    fixed: Mapping[str, float]
    """Attributes that must have a value."""
    results: Sequence[str]

    def sources_of(self, argument: Argument) -> Sequence[str]:
        """The inputs and attributes that may have the value of an argument."""
        own = argument.name[:1].upper() + argument.name[1:] if argument.is_tensor else argument.name
        return self.sources.get(argument.name, (own,))


@cache
def rules() -> Mapping[str, Rule]:
    """The rules by the old names of operators."""
    lines = Path(__file__).with_name("version_2.txt").read_text(encoding="utf-8").splitlines()
    return dict(_rule(line) for line in lines if not line.startswith("#"))


def _rule(line: str) -> tuple[str, Rule]:
    """The rule of a line: `NAME = TARGET ARGUMENT=SOURCE|SOURCE ATTRIBUTE==NUMBER -> RESULT…`."""
    left, _, results = line.partition(" -> ")
    head, equals, rest = left.partition(" = ")
    name, *parts = head.split()
    target = name
    if equals:
        target, *parts = rest.split()
    sources, fixed = dict[str, list[str]](), dict[str, float]()
    for part in parts:
        if "==" in part:
            attribute, number = part.split("==")
            fixed[attribute] = float(number)
        else:
            argument, source = part.split("=")
            sources[argument] = source.split("|")
    return name, Rule(target, sources, fixed, results.split() or ["Out"])


def normal(op: Operator) -> Operator:
    """An operator with the changes made that no rule of the table can describe."""
    change = _CHANGES.get(op.type)
    return op if change is None else change(op)


def _reduction(op: Operator) -> Operator:
    """Drops the axes of a reduction with `reduce_all`: the empty list means all axes."""
    return op.with_attributes(dim=()) if op.attributes.get("reduce_all") else op


def _split(op: Operator) -> Operator:
    """`split` into equal parts becomes `split_with_num`, a separate operator in version 3."""
    sections = op.attributes.get("sections") or op.inputs.get("SectionsTensorList")
    return op if sections else replace(op, type="split_with_num")


def _triangle(op: Operator) -> Operator:
    return replace(op, type="tril" if op.attributes.get("lower") else "triu")


def _full(op: Operator) -> Operator:
    """The fill value as a float, parsed from `str_value` where that is given."""
    text = op.attributes.get("str_value")
    return op.with_attributes(value=float(text)) if isinstance(text, str) and text else op


_CHANGES: Mapping[str, Callable[[Operator], Operator]] = {
    "fill_constant": _full,
    "split": _split,
    "tril_triu": _triangle,
    **dict.fromkeys(("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum"), _reduction),
}
