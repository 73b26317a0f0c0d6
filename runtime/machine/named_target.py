"""
`Target`: a CPU as users write it, by name, by attributes, or by triple; resolved, a `TargetDescription`.

Text is a kind with attributes, `cpu{mcpu=riscv64gcv cores=4}`, a name of the table, or an LLVM triple.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.machine.target import CPU_LEVELS, TargetDescription, target_from

KINDS = ("cpu",)
_SIZES = {"KiB": 1 << 10, "MiB": 1 << 20}
_NUMBERS = {"cores": "cores", "l1": "l1_bytes", "l2": "l2_bytes", "l3": "l3_bytes"}
"""Attributes that are numbers, and the fields of a description that they set."""
_ATTRIBUTES = ("mcpu", "triple", *_NUMBERS)
_TEXT = re.compile(r"(?P<kind>[\w-]+)(?:\{(?P<attributes>[^{}]*)\})?")
_SIZE = re.compile(r"(\d+)(KiB|MiB)?")
MAX_CHARS = 1 << 16


class Target:
    """
    A target of the kind `cpu`: hashable, equal to another with the same attributes, and text by `str`.

    `target["mcpu"]` is an attribute, with its default where it was not given; `cpu()` what code is made by.
    """

    def __init__(self, target: str | Mapping[str, object] | Target):
        """
        Args: `target` is text, a dictionary of attributes, or a target.
        Raises: StepwellError `unknown-target`, `bad-target`.
        """
        if isinstance(target, Target):
            target = target.to_json()
        elif isinstance(target, str):
            target = _parsed(target)
        if target.get("kind", KINDS[0]) not in KINDS:
            raise _unknown(str(target["kind"]))
        given = {key: _checked(key, value) for key, value in sorted(target.items()) if key != "kind"}
        self._given: Mapping[str, object] = given
        self._description = _described(self._given)

    @property
    def kind(self) -> str:
        """The kind, `cpu`."""
        return KINDS[0]

    @property
    def attrs(self) -> Mapping[str, object]:
        """All attributes, defaults filled in."""
        found = {"mcpu": self._given.get("mcpu", "host"), "triple": self._description.triple}
        return found | {key: getattr(self._description, field) for key, field in _NUMBERS.items()}

    def __getitem__(self, name: str) -> object:
        """An attribute. Raises: StepwellError `bad-target` for a name that is none."""
        if name not in _ATTRIBUTES:
            raise _no_attribute(name)
        return self.attrs[name]

    def cpu(self) -> TargetDescription:
        """The CPU by which code is made."""
        return self._description

    @staticmethod
    def kinds() -> tuple[str, ...]:
        """The names of kinds."""
        return KINDS

    def with_attrs(self, attributes: Mapping[str, object]) -> Target:
        """The target with other values of some attributes."""
        return Target({**self._given, **attributes})

    def to_json(self) -> dict[str, object]:
        """The kind and the attributes that were given, as plain JSON values."""
        return {"kind": self.kind, **self._given}

    def __str__(self) -> str:
        attributes = " ".join(f"{key}={value}" for key, value in self._given.items())
        return f"{self.kind}{{{attributes}}}" if attributes else self.kind

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._given == other._given

    def __hash__(self) -> int:
        return hash(str(self))


def _parsed(text: str) -> Mapping[str, object]:
    """The attributes in text: of a kind, JSON, a name of the table, or a triple."""
    if len(text) > MAX_CHARS:
        raise StepwellError("bad-target", None, f"a target has at most {MAX_CHARS} characters")
    text = text.strip()
    if text.startswith("{"):
        return _from_json(text)
    if text in CPU_LEVELS:
        return {"mcpu": text}
    found = _TEXT.fullmatch(text)
    if found is not None and found["kind"] in KINDS:
        return _attributes(found["attributes"] or "")
    if text.count("-") >= 2 and "{" not in text:
        return {"triple": text}
    raise _unknown(text.partition("{")[0])


def _from_json(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StepwellError("bad-target", None, f"the target is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise StepwellError("bad-target", None, "a target in JSON is an object of attributes")
    return cast("Mapping[str, object]", value)


def _attributes(text: str) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise StepwellError("bad-target", None, f"expected NAME=VALUE in a target, found {word!r}")
        if key in found:
            raise StepwellError("bad-target", None, f"{key} is given twice")
        found[key] = value
    return found


def _checked(key: str, value: object) -> object:
    """An attribute's value in its own type. Raises: StepwellError `bad-target`."""
    if key not in _ATTRIBUTES:
        raise _no_attribute(key)
    if key not in _NUMBERS:
        return str(value)
    if type(value) is int and value > 0:
        return value
    size = _SIZE.fullmatch(value) if isinstance(value, str) else None
    number = 0 if size is None else int(size[1]) * _SIZES.get(size[2], 1)
    if not number:
        raise StepwellError("bad-target", None, f"{key} must be a size such as 48KiB, found {value!r}")
    return number


def _described(given: Mapping[str, object]) -> TargetDescription:
    mcpu, triple = str(given.get("mcpu", "host")), given.get("triple")
    target = target_from(mcpu, None if triple is None else str(triple))
    return replace(target, **{field: given[key] for key, field in _NUMBERS.items() if key in given})  # pyright: ignore[reportArgumentType]


def _no_attribute(name: str) -> StepwellError:
    help = f"{did_you_mean(name, _ATTRIBUTES)}the attributes are {', '.join(_ATTRIBUTES)}"
    return StepwellError("bad-target", None, f"cpu has no attribute {name!r}", help=help)


def _unknown(text: str) -> StepwellError:
    names = (*KINDS, *CPU_LEVELS)
    help = f"{did_you_mean(text, names)}`stepwell targets` lists the CPUs"
    return StepwellError("unknown-target", None, f"no target is named {text!r}", help=help)
