"""The tables of kinds and tags of targets; other packages add theirs by entry points `stepwell.targets`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import entry_points
from stepwell.runtime.targets.kind import Kind

ENTRY_POINTS = "stepwell.targets"
"""The entry point group of functions `register(registry)`, which call `add_kind` and `add_tag`."""
_MODULES = {
    "cpu": "cpu_kind",
    "cuda": "cuda",
    "rocm": "rocm",
    "webgpu": "webgpu",
    "opencl": "opencl",
    "metal": "metal",
    "npu": "npu",
}
"""The module of this folder that defines each kind, imported when the kind is first used."""


class Tag(NamedTuple):
    """A name of a device, with the attributes that it stands for."""

    name: str
    """`VENDOR/MODEL`."""
    kind: str
    attributes: Mapping[str, object]
    source: str
    """The table of the vendor that has the facts."""


class TargetRegistry:
    """Kinds and tags of other packages."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}
        self.tags: dict[str, Tag] = {}

    def add_kind(self, kind: Kind) -> None:
        """Add a kind. Raises: StepwellError `name-taken`."""
        if kind.name in _MODULES or kind.name in self.kinds:
            raise StepwellError("name-taken", None, f"a kind of target is named {kind.name} already")
        self.kinds[kind.name] = kind

    def add_tag(self, tag: Tag) -> None:
        """Add a tag. Raises: StepwellError `name-taken`."""
        if tag.name in _own_tags() or tag.name in self.tags:
            raise StepwellError("name-taken", None, f"a tag of a target is named {tag.name} already")
        self.tags[tag.name] = tag


@cache
def _plugged_in() -> TargetRegistry:
    """The kinds and tags that installed packages register."""
    registry = TargetRegistry()
    for point in entry_points(ENTRY_POINTS):
        point.load()(registry)
    return registry


def kind_named(name: str) -> Kind | None:
    """A kind by name; None when there is none."""
    if name in _MODULES:
        kind: Kind = import_module(f"{__package__}.{_MODULES[name]}").KIND
        return kind
    return _plugged_in().kinds.get(name)


def kind_names() -> tuple[str, ...]:
    """The names of all kinds."""
    return (*_MODULES, *_plugged_in().kinds)


def tags() -> Mapping[str, Tag]:
    """All tags by name."""
    return {**_own_tags(), **_plugged_in().tags}


@cache
def _own_tags() -> Mapping[str, Tag]:
    """The tags of `tags.csv`."""
    with Path(__file__).with_name("tags.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["name"]: Tag(row["name"], row["kind"], _attributes(row), row["source"]) for row in rows}


def _attributes(row: Mapping[str, str]) -> Mapping[str, object]:
    """The attributes of a row, `key=value` with spaces between."""
    pairs = (text.partition("=") for text in row["attributes"].split())
    return {key: value for key, _, value in pairs}
