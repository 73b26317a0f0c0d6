"""Kinds of targets: typed attributes, their defaults by architecture, and bounds that no target exceeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from stepwell.runtime.errors import StepwellError, did_you_mean

Value: TypeAlias = "str | int | tuple[str, ...] | tuple[int, ...]"
"""The value of an attribute."""
Values: TypeAlias = Mapping[str, Value]
"""Attributes by name."""
Read: TypeAlias = Callable[[str, object], Value]
"""Maps a key and a value as written to the value in its type. Raises: StepwellError `bad-target`."""

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
_SIZE = re.compile(r"([0-9]{1,18})(KiB|MiB)?")
_WORD = re.compile(r"[\w.:/+-]+", re.ASCII)
_MOST = 1 << 62


def bad_target(message: str, help: str | None = None) -> StepwellError:
    """The error of a target whose text or attributes are wrong."""
    return StepwellError("bad-target", None, message, help=help)


def word(key: str, value: object) -> str:
    """A value that is a name or a path: without spaces, commas and braces."""
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    raise bad_target(f"{key} must be one word, found {_shown(value)}")


def size(key: str, value: object) -> int:
    """A positive number, as an integer or as text with or without a unit."""
    number = _number(value)
    if not number:
        raise bad_target(f"{key} must be a size such as 48KiB, found {_shown(value)}")
    return number


def count(key: str, value: object) -> int:
    """A number from 0 on."""
    number = _number(value)
    if number is None:
        raise bad_target(f"{key} must be a number, found {_shown(value)}")
    return number


def words(key: str, value: object) -> tuple[str, ...]:
    """A list of names, as a list or as text with commas, each once; sorted."""
    return tuple(sorted({word(key, each) for each in _listed(value) if each != ""}))


def three(key: str, value: object) -> tuple[int, ...]:
    """Three positive numbers: x, y, z."""
    numbers = [size(key, each) for each in _listed(value)]
    if len(numbers) != 3:
        raise bad_target(f"{key} must be three numbers such as 1024,1024,64, found {_shown(value)}")
    return tuple(numbers)


def choice(*legal: str) -> Read:
    """A reader of one of a few words."""

    def read(key: str, value: object) -> str:
        if value in legal:
            return str(value)
        raise bad_target(f"{key} must be one of {', '.join(legal)}, found {_shown(value)}")

    return read


def _number(value: object) -> int | None:
    """A number from 0 to 2^62; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < _MOST else None
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    number = int(found[1]) * _UNITS.get(found[2], 1)
    return number if number < _MOST else None


def _listed(value: object) -> Sequence[object]:
    if isinstance(value, str):
        return value.split(",")
    return list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # JSON


def _shown(value: object) -> str:
    """A value as errors quote it, cut off when long."""
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else text[:77] + "…" + '"'


def value_text(key: str, value: Value) -> str:
    """A value as text of a target; bytes in the largest unit that divides them."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, int) and key in SIZES:
        for unit, bytes in reversed(_UNITS.items()):
            if value % bytes == 0:
                return f"{value // bytes}{unit}"
    return str(value)


SIZES = ("shared-memory", "max-binding", "l1", "l2", "l3")
"""Attributes that are bytes, which text gives in KiB or MiB."""


def _no_defaults(given: Values) -> Values:
    return {}


def _no_check(values: Values) -> None:
    pass


@dataclass(frozen=True)
class Kind:
    """
    A kind of target: the reader of each attribute, and defaults, which can depend on the given attributes.

    Other packages make kinds too, and register them (`stepwell.targets`).
    """

    name: str
    keys: tuple[str, ...]
    """The names of families that the kind belongs to, its own first."""
    attributes: Mapping[str, Read]
    about: str
    """A sentence for `stepwell targets`."""
    defaults: Callable[[Values], Values] = _no_defaults
    """Maps the attributes that were given to the defaults of all."""
    check: Callable[[Values], None] = _no_check
    """Refuses attributes that contradict each other. Raises: StepwellError `bad-target`."""
    experimental: bool = True
    """Whether code for the kind is checked as text or by an interpreter, and was never run on a device."""

    def read(self, given: Mapping[str, object]) -> Values:
        """Attributes in their types. Raises: StepwellError `bad-target`."""
        values = {key: self._reader(key)(key, value) for key, value in sorted(given.items())}
        self.check({**self.defaults(values), **values})
        return values

    def _reader(self, key: str) -> Read:
        if key not in self.attributes:
            raise self.no_attribute(key)
        return self.attributes[key]

    def no_attribute(self, key: str) -> StepwellError:
        """The error of an attribute that the kind lacks."""
        help = f"{did_you_mean(key, self.attributes)}the attributes are {', '.join(self.attributes)}"
        return bad_target(f"{self.name} has no attribute {_shown(key)}", help=help)

    def differing(self, values: Values) -> Values:
        """The attributes that differ from the defaults which the others imply, sorted by name."""
        found: dict[str, Value] = {}
        for key, value in sorted(values.items()):
            others = {other: each for other, each in values.items() if other != key}
            if self.defaults(others).get(key) != value:
                found[key] = value
        return found
