"""Pauses of the garbage collector during imports and passes, whose objects stay alive; quick imports."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, cast


@contextmanager
def collector_paused() -> Generator[None]:
    """
    A context manager without cyclic garbage collection inside.

    The collector repeatedly visits what is alive: passes over 10,000 ops take up to twice as long with it,
    and imports of the compiler 0.07 s more. Work on one module after another calls `free_young_cycles`
    between them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def free_young_cycles(fewest: int = 0) -> None:
    """
    Free the cycles among the objects made since the last call, if there are at least `fewest` objects.

    The collector itself visits all that is alive, the whole model, again and again: with it a compilation
    takes 5 to 20 % more (mobilenet_v2: 4.0 instead of 3.4 processor seconds).
    """
    if gc.get_count()[0] >= fewest:
        gc.collect(0)


@contextmanager
def compiler_imports() -> Generator[None]:
    """
    A context manager around imports of the compiler: the collector is paused, and visits what was made as
    seldom as the oldest objects; methods of data classes are compiled when they are first called.

    xDSL and the compiler have 290 data classes with 1,300 methods, whose compilation takes 0.06 s, a fifth of
    all imports; few of them are called. Classes that other threads define meanwhile get such methods too.
    """
    with collector_paused():
        modules = len(sys.modules)
        try:
            with late_methods():
                yield
        finally:
            if len(sys.modules) > modules:  # counting frozen objects visits each of them
                _make_old()


@contextmanager
def late_methods() -> Generator[None]:
    """
    A context manager inside of which methods of new data classes are compiled when they are first called.

    A compilation imports further modules while it runs, for the operators of its model.
    """
    _count_imports(1)
    try:
        yield
    finally:
        _count_imports(-1)


def _make_old() -> None:
    """
    Put all objects into the oldest generation: the next round for young ones would visit 67,000 in 15 ms.

    Nothing is done where the program itself has frozen objects, which would take part in collections again:
    from then on they are not counted again, which visits each of them.
    """
    global _are_frozen
    _are_frozen = _are_frozen or bool(gc.get_freeze_count())
    if not _are_frozen:
        gc.freeze()
        gc.unfreeze()


_are_frozen = False
_NAMES = ("_create_fn", "inspect")
_ORIGINAL = {name: vars(dataclasses)[name] for name in _NAMES if hasattr(dataclasses, name)}
"""
What `dataclasses` uses to compile the text of a method, and to describe a class that has no docstring by its
signature (0.1 ms). Python 3.13 compiles the methods of a class at once.
"""
_LOCK = Lock()
_importing = 0


def _count_imports(change: int) -> None:
    """Count the importing threads; the first and the last of them exchange the functions of `dataclasses`."""
    global _importing
    with _LOCK:
        _importing += change
        for name in _NAMES if "_create_fn" in _ORIGINAL else ():
            setattr(dataclasses, name, (_LATE if _importing else _ORIGINAL)[name])


def _late_method(name: str, args: Sequence[str], body: Sequence[str], **rest: Any) -> Callable[..., Any]:
    """A method compiled from its text at the first call, which replaces itself by the result."""
    compiled: Callable[..., Callable[..., Any]] = _ORIGINAL["_create_fn"]
    if name == "__init__":
        return cast("Callable[..., Any]", _LateInit(partial(compiled, name, args, body, **rest)))
    outcome: Callable[..., Any] | None = None

    def method(self: object, *values: object, **named: object) -> object:
        nonlocal outcome
        if outcome is None:
            outcome = compiled(name, args, body, **rest)
            outcome.__qualname__ = method.__qualname__
            for owner in type(self).__mro__:
                if vars(owner).get(name) is method:
                    setattr(owner, name, outcome)
        return outcome(self, *values, **named)

    method.__name__ = name
    return method


class _LateInit:
    """A constructor that is compiled when the class is first called or asked for its signature."""

    def __init__(self, compiled: Callable[[], FunctionType]):
        self._compiled = compiled
        self.__name__ = "__init__"

    def __get__(self, instance: object, owner: type) -> Callable[..., None]:
        """The compiled constructor, which replaces this object in its class."""
        init = self._compiled()
        for cls in owner.__mro__:
            if vars(cls).get("__init__") is self:
                init.__qualname__ = f"{cls.__qualname__}.__init__"
                setattr(cls, "__init__", init)  # noqa: B010  # a type checker knows of no such attribute
        return init if instance is None else MethodType(init, instance)


def _short_signature(_: type) -> str:
    return "(...)"


_INSPECT = SimpleNamespace(**vars(inspect) | {"signature": _short_signature})
_LATE = {"_create_fn": _late_method, "inspect": _INSPECT}
