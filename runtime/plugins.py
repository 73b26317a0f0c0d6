"""The loaded plugins, what their decorators register, and errors for exceptions in their code."""

from __future__ import annotations

import sys
from collections.abc import Generator, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from os.path import isfile
from shlex import quote
from traceback import walk_tb
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from stepwell.runtime.errors import StepwellError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
DECORATED: set[str] = set()
"""The files with code that a decorator has registered, loaded as plugins or imported."""
IMPORTED: set[str] = set()
"""Those of them that were imported."""
UNKEYED: set[str] = set()
"""The imported ones that change models: no key of a cache contains their digest."""

_LOADING: ContextVar[bool] = ContextVar("stepwell_loading_plugin", default=False)


@dataclass(frozen=True)
class _Entry(Generic[V]):
    value: V
    defined: object
    """The function or class that the value was made from."""
    module: ModuleType | None
    """The module of `defined` at the time; importing it again makes another."""


def _entry(value: V, defined: object) -> _Entry[V]:
    return _Entry(value, defined, sys.modules.get(getattr(defined, "__module__", "")))


class Registry(Generic[K, V]):
    """
    A table that plugins fill.

    Args: `what` an entry is, for errors (`an op named`); `changes_models` without an option that asks for it.
    """

    def __init__(self, what: str, *, changes_models: bool = False):
        self._what, self._changes_models = what, changes_models
        self._entries: dict[K, _Entry[V]] = {}
        REGISTRIES.append(self)

    def add(self, key: K, value: V, defined: object) -> None:
        """
        Register a value; the same function or class replaces its own entry when its module is imported again.

        Raises: StepwellError `name-taken`, with the places of both.
        """
        self.expect_free(key, defined)
        self._entries[key] = _entry(value, defined)
        if not (file := file_of(defined)):
            return
        if not getattr(defined, "__module__", "").startswith("stepwell."):
            DECORATED.add(file)  # what else is of ours fails by our fault
            if not _LOADING.get():
                IMPORTED.add(file)
        if self._changes_models and not _LOADING.get():
            UNKEYED.add(file)

    def expect_free(self, key: K, defined: object) -> None:
        """Require that a definition may have a key. Raises: as `add`."""
        known = self._entries.get(key)
        if known is not None and not _is_again(_entry(None, defined), known):
            raise self.taken(key, defined, known.defined)

    def taken(self, key: K, defined: object, known: object = None) -> StepwellError:
        """The error `name-taken` for a key that another definition has, or one of ours."""
        note = "it is one of Stepwell's own or of xDSL's" if known is None else f"it is {described(known)}"
        message = f"there is {self._what} '{key}' already"
        return StepwellError("name-taken", place_of(defined), message, note=note, help="choose another name")

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def items(self) -> Iterator[tuple[K, V]]:
        """The keys with their values, in the order in which they were registered."""
        return ((key, entry.value) for key, entry in self._entries.items())

    def __getitem__(self, key: K) -> V:
        return self._entries[key].value

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def files(self) -> Iterator[str]:
        """The file of each entry."""
        return (file_of(entry.defined) for entry in self._entries.values())

    def snapshot(self) -> dict[K, _Entry[V]]:
        """The entries, for `restore`."""
        return dict(self._entries)

    def restore(self, entries: dict[K, _Entry[V]]) -> None:
        """Forget what was registered after a snapshot."""
        self._entries = entries


REGISTRIES: list[Registry[Any, Any]] = []
"""All registries of this process."""


def _is_again(new: _Entry[Any], old: _Entry[Any]) -> bool:
    """Whether a definition is an older one after its module was imported again, or its cell run again."""
    names = [(getattr(e.defined, "__module__", ""), _name_of(e.defined)) for e in (new, old)]
    is_new = new.module is not old.module or names[0][0] == "__main__"
    return new.defined is old.defined or (names[0] == names[1] and is_new)


@contextmanager
def loading() -> Generator[None]:
    """Count registrations as those of a plugin that is loaded; an exception undoes them."""
    before = [registry.snapshot() for registry in REGISTRIES]
    token = _LOADING.set(True)
    try:
        yield
    except BaseException:
        for index, registry in enumerate(REGISTRIES):
            registry.restore(before[index] if index < len(before) else {})
        raise
    finally:
        _LOADING.reset(token)


def _name_of(defined: object) -> str:
    return getattr(defined, "__qualname__", type(defined).__qualname__)


def file_of(defined: object) -> str:
    """The file of a function or class, or `__main__` for a class of a notebook; nothing for other objects."""
    if (code := getattr(_unwrapped(defined), "__code__", None)) is not None:
        return code.co_filename
    module = getattr(defined, "__module__", "") if callable(defined) else ""
    return getattr(sys.modules.get(module), "__file__", None) or ("__main__" if module == "__main__" else "")


def place_of(defined: object) -> str:
    """The file and line of a function or class, as far as they are known."""
    from inspect import getsourcelines

    if (code := getattr(_unwrapped(defined), "__code__", None)) is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    try:
        return f"{file_of(defined)}:{getsourcelines(defined)[1]}"  # pyright: ignore[reportArgumentType]
    except (OSError, TypeError):  # no source, or neither a function nor a class
        return file_of(defined)


def described(defined: object) -> str:
    """The name and place of a function or class: `cube, acme.py:12`."""
    return ", ".join(filter(None, (_name_of(defined), place_of(defined))))


def _unwrapped(defined: object) -> object:
    from functools import partial
    from inspect import unwrap

    while isinstance(defined, partial):
        defined = cast("partial[object]", defined).func
    return unwrap(defined) if callable(defined) else defined


def plugin_error(
    error: BaseException, where: object = None, files: Iterable[str] = ()
) -> StepwellError | None:
    """
    The error for an exception raised in or through a plugin, with the innermost line there; None for others.

    Args: `where` is the op that was being worked on, if one is known; `files` are further files of a user's.
    """
    place: str | None = None
    files = LOADED.keys() | INSTALLED | DECORATED | {*files}
    for frame, line in walk_tb(error.__traceback__):
        if frame.f_code.co_filename in files or (frame.f_globals.get("__name__") == "__main__" in files):
            place = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
    if place is None:
        return None
    return StepwellError(
        "plugin-failed",
        where,
        f"{type(error).__name__}: {error}",
        note=f"raised at {place}",
        help="`--debug` shows the whole traceback",
    )


def plugin_of(defined: object) -> str | None:
    """The file of the plugin that defines a class or function; None for others."""
    module = getattr(defined, "__module__", "")
    file = getattr(sys.modules.get(module), "__file__", None) or module
    return file if file in LOADED or file in INSTALLED or file in DECORATED else None


def is_keyed(defined: object) -> bool:
    """Whether keys of caches contain the digest of the plugin that defines a class or function."""
    return (file := plugin_of(defined)) in LOADED or file in INSTALLED


def load_options() -> str:
    """
    The `--load` options for the plugins of this process, each after a blank: first those that were loaded,
    then the files that were imported, without the program itself.
    """
    program = getattr(sys.modules.get("__main__"), "__file__", None)
    imported = sorted(file for file in IMPORTED - LOADED.keys() - {program} if isfile(file))
    names = [*(plugin.name for plugin in LOADED.values()), *imported]
    return "".join(f" --load {quote(name)}" for name in names)
