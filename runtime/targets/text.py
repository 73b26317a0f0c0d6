"""Targets as text: `cuda{arch=sm_90} on cpu{mcpu=x86-64-v3}`, tags, JSON, CPU levels and triples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.targets.cpu import cpu_rows
from stepwell.runtime.targets.kind import bad_target
from stepwell.runtime.targets.registry import kind_named, kind_names, tags

MAX_CHARS = 1 << 16
"""The longest text of a target."""
_MAX_SHOWN = 80
_TEXT = re.compile(r"(?P<name>[^\s{}]+)(?:\{(?P<attributes>[^{}]*)\})?", re.ASCII)
_HOST = re.compile(r"\s+on\s+(?![^{}]*\})")
AUTO, CPU = "auto", "cpu"
"""The target that is detected, and the kind of CPUs."""
HERE = ("host", "native")
"""The names of this machine's own CPU."""


class Spelled(NamedTuple):
    """A target as it was written: attributes by name, not yet in their types."""

    kind: str
    attributes: Mapping[str, object]
    host: object = None
    """Anything that a target is made of; None when it was not given."""
    tag: str | None = None


def spelled(text: str) -> Spelled:
    """The kind, attributes and host in a text. Raises: StepwellError `bad-target`, `unknown-target`."""
    if len(text) > MAX_CHARS:
        raise bad_target(f"a target has at most {MAX_CHARS} characters, found {len(text)}")
    text = text.strip()
    if text.startswith("{"):
        return spelled_json(_json(text))
    device, *hosts = _HOST.split(text)
    if len(hosts) > 1:
        raise bad_target("a target has at most one host, after `on`")
    found = _TEXT.fullmatch(device)
    if found is None:
        if device and re.fullmatch(r"[^\s{}]+", device.partition("{")[0]):
            raise bad_target(f"expected KIND{{NAME=VALUE …}}, found {_shortened(device)!r}")
        raise unknown_target(device)
    named = _named(found["name"], found["attributes"] is not None)
    return named._replace(
        attributes={**named.attributes, **_attributes(found["attributes"] or "")},
        host=hosts[0] if hosts else None,
    )


def spelled_json(value: Mapping[Any, object]) -> Spelled:
    """The kind, attributes and host in a dictionary; the kind is `cpu` when it has none."""
    attributes = {str(key): each for key, each in value.items()}
    kind, host = attributes.pop("kind", CPU), attributes.pop("host", None)
    if not isinstance(kind, str) or kind_named(kind) is None:
        raise unknown_target(str(kind))
    return Spelled(kind, attributes, host)


def _named(name: str, has_attributes: bool) -> Spelled:
    """A kind, a tag, a level of the table of CPUs, or a triple."""
    if kind_named(name) is not None:
        return Spelled(name, {})
    if tag := tags().get(name):
        return Spelled(tag.kind, tag.attributes, tag=name)
    if name in cpu_rows() or name in HERE:
        return Spelled(CPU, {"mcpu": name})
    if "-" in name and "/" not in name and not has_attributes:
        return Spelled(CPU, {"triple": name})
    raise unknown_target(name)


def _json(text: str) -> Mapping[Any, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad_target(f"the target is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise bad_target("a target in JSON is an object of attributes")
    return value  # pyright: ignore[reportUnknownVariableType]  # JSON


def _attributes(text: str) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for each in text.split():
        key, equals, value = each.partition("=")
        if not key or not equals:
            raise bad_target(f"expected NAME=VALUE in a target, found {_shortened(each)!r}")
        if key in found:
            raise bad_target(f"{_shortened(key)} is given twice")
        found[key] = value
    return found


def unknown_target(text: str) -> StepwellError:
    """The error of a name that no kind, tag or CPU has, with the nearest ones."""
    text = _shortened(text)
    names: Iterable[str] = (*kind_names(), AUTO, *HERE, *cpu_rows(), *tags())
    help = f"{did_you_mean(text, names)}`stepwell targets` lists kinds, CPUs and devices"
    return StepwellError("unknown-target", None, f"no target is named {text!r}", help=help)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
