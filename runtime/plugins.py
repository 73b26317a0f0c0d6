"""The loaded plugins, and errors for exceptions in their code, which are not bugs of Stepwell's."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from shlex import quote
from traceback import walk_tb

from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class Plugin:
    """A loaded plugin: its name and digest."""

    name: str
    """The file, or the dotted name of a module, that loads it again."""
    digest: str
    """The digest of the plugin's file, and of the modules that it imported."""


LOADED: dict[str, Plugin] = {}
"""The plugins of this process by file, in the order in which they were loaded."""
INSTALLED: set[str] = set()
"""The files of installed plugins whose passes were imported."""


def plugin_error(error: BaseException, where: object = None) -> StepwellError | None:
    """
    The error for an exception raised in or through a plugin, with the innermost line there; None for others.

    Args: `where` is the op that was being worked on, if one is known.
    """
    place: str | None = None
    files = LOADED.keys() | INSTALLED
    for frame, line in walk_tb(error.__traceback__):
        if frame.f_code.co_filename in files:
            place = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
    if place is None:
        return None
    return StepwellError(
        "plugin-failed",
        where,
        f"{type(error).__name__}: {error}",
        note=f"the plugin raised it at {place}",
        help="`--debug` shows the whole traceback",
    )


def plugin_of(defined: object) -> str | None:
    """The file of the plugin that defines a class or function; None for others."""
    file = getattr(sys.modules.get(getattr(defined, "__module__", "")), "__file__", None)
    return file if file in LOADED or file in INSTALLED else None


def load_options() -> str:
    """The `--load` options for the loaded plugins, each after a blank."""
    return "".join(f" --load {quote(plugin.name)}" for plugin in LOADED.values())
