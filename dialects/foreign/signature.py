"""Signatures of foreign ops as text: `aten.add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_LINE = re.compile(r"([\w.]+)\((.*)\) -> (.*)")
_TYPE = re.compile(r"(\w+)(\?)?(?:\[(\d*)\])?(\?)?")
NO_DEFAULT = object()
"""The default of an argument that a caller must give."""
_WORDS: dict[str, object] = {"None": None, "True": True, "False": False}


@dataclass(frozen=True)
class Argument:
    """An argument or a result of a foreign op."""

    name: str
    base: str
    """The type of one element: `Tensor`, `int`, `float`, `Scalar`, `bool`, `str`, `ScalarType`, …."""
    is_list: bool = False
    is_optional: bool = False
    """Whether the whole argument may be None."""
    has_optional_items: bool = False
    default: object = NO_DEFAULT
    size: int | None = None
    """The length of a list for which one number may stand."""

    @property
    def is_tensor(self) -> bool:
        """Whether the argument is an operand: a tensor or a list of tensors."""
        return self.base == "Tensor"

    @property
    def is_required(self) -> bool:
        """Whether a caller must give the argument."""
        return self.default is NO_DEFAULT and not self.is_optional


@dataclass(frozen=True)
class Signature:
    """The name, the arguments and the results of a foreign op."""

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Argument, ...]

    @cached_property
    def by_name(self) -> dict[str, Argument]:
        """The arguments by name."""
        return {argument.name: argument for argument in self.arguments}

    @property
    def tensors(self) -> Sequence[Argument]:
        """The arguments that are operands."""
        return [argument for argument in self.arguments if argument.is_tensor]


def parse_signature(line: str) -> Signature:
    """A signature from its line. Raises: ValueError when the line is none."""
    if (match := _LINE.fullmatch(line.strip())) is None:
        raise ValueError(f"{line!r} is no signature: expected NAME(ARGUMENTS) -> RESULTS")
    name, arguments, results = match.groups()
    parts = [part for part in _split(arguments) if part != "*"]
    returned = _split(results[1:-1] if results.startswith("(") else results)
    return Signature(
        name, tuple(map(_argument, parts)), tuple(_result(part, i) for i, part in enumerate(returned))
    )


def _split(text: str) -> list[str]:
    """The parts of a list between commas that are outside of brackets and quotes."""
    parts, depth, start, quoted = list[str](), 0, 0, False
    for position, char in enumerate(text):
        quoted ^= char == '"'
        depth += (char in "([") - (char in ")]")
        if char == "," and not depth and not quoted:
            parts.append(text[start:position].strip())
            start = position + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def _argument(text: str) -> Argument:
    declared, _, name = text.partition(" ")
    name, has_default, default = name.partition("=")
    return _typed(name, declared, _default(default) if has_default else NO_DEFAULT)


def _result(text: str, position: int) -> Argument:
    declared, _, name = text.partition(" ")
    return _typed(name or f"result{position}", declared, NO_DEFAULT)


def _typed(name: str, declared: str, default: object) -> Argument:
    if (match := _TYPE.fullmatch(declared)) is None:
        raise ValueError(f"{declared!r} is no type of an argument")
    base, before, size, after = match.groups()
    is_list = size is not None
    return Argument(
        name,
        base,
        is_list,
        is_optional=bool(after) or (bool(before) and not is_list),
        has_optional_items=bool(before) and is_list,
        default=default,
        size=int(size) if size else None,
    )


def _default(text: str) -> object:
    """A default as a Python value; a name such as `Mean` stays text."""
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("["):
        return tuple(_default(part) for part in _split(text[1:-1]))
    if text[0] in "\"'":
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
