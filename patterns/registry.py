"""Python functions that pattern text calls by name: predicates and checks of values, callbacks of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import TypeVar

from stepwell.patterns.nodes import Predicate
from stepwell.patterns.rewriting import Callback
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.plugins import Registry

F = TypeVar("F", bound=Callable[..., object])

PREDICATES: Registry[str, Predicate] = Registry("a function named")
CALLBACKS: Registry[str, Callback] = Registry("a function named")


def register_predicate(name: str) -> Callable[[Predicate], Predicate]:
    """Register a function on values for `pattern.where` and for the checks of tables."""
    return _register(PREDICATES, name)


def register_callback(name: str) -> Callable[[Callback], Callback]:
    """Register a callback that replaces roots, for `pattern.replace`."""
    return _register(CALLBACKS, name)


def _register(table: Registry[str, F], name: str) -> Callable[[F], F]:
    def add(function: F) -> F:
        table.add(name, function, function)
        return function

    return add


def look_up(table: Registry[str, F], name: str, what: str, where: object) -> F:
    """A registered function. Raises: StepwellError `bad-pattern`, with the nearest names."""
    if name not in table:
        if (error := unknown_name(what, name, table, where)).help is None:
            kind = "callback" if what == "callback" else "predicate"
            help = f"register_{kind}({name!r}) of stepwell.patterns makes one known, in a file for --load"
            raise StepwellError(error.code, where, error.message, help=help)
        raise error
    return table[name]


def unknown_name(what: str, name: str, known: Iterable[str], where: object) -> StepwellError:
    """The error `bad-pattern` for a name that is not registered or defined, with the nearest names."""
    near = get_close_matches(name, list(known))
    hint = f"did you mean @{', @'.join(near)}?" if near else None
    return StepwellError("bad-pattern", where, f"no {what} is named @{name}", help=hint)
