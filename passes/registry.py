"""
The one lazy table of passes and conversions: name -> dotted name. Nothing is imported until it is asked for.

Conversions live in `lowering/`, which `passes/` may not import: this is one of the three references upward.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import cast

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class Entry:
    """A registered pass: where its class is, and one line about it for `stepwell-opt --list-passes`."""

    place: str
    """`module:Class`."""
    summary: str
    aliases: tuple[str, ...] = ()
    """Names that TVM's users know it by."""


PASSES: dict[str, Entry] = {}


def load_pass(name: str) -> type[ModulePass]:
    """
    The pass class of a name or alias: ours, or one of xDSL's (`canonicalize`, `cse`, …).

    Raises: StepwellError `unknown-pass`, with the nearest names.
    """
    entry = PASSES.get(name) or next((e for e in PASSES.values() if name in e.aliases), None)
    if entry is not None:
        module, attribute = entry.place.split(":")
        return cast(type[ModulePass], getattr(import_module(module), attribute))
    upstream = get_all_passes()
    if name in upstream:
        return upstream[name]()
    known = [*PASSES, *(alias for e in PASSES.values() for alias in e.aliases), *upstream]
    near = get_close_matches(name, known)
    hint = f"did you mean {', '.join(near)}? " if near else ""
    raise StepwellError(
        "unknown-pass",
        None,
        f"no pass is named {name!r}",
        help=f"{hint}`stepwell-opt --list-passes` lists them all",
    )
