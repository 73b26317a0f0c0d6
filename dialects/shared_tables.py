"""Tables about a module that verifiers of many ops read, made once in a verification."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from xdsl.ir import Operation

TableT = TypeVar("TableT")

_TABLES: ContextVar[dict[tuple[int, object], Any] | None] = ContextVar("stepwell_tables", default=None)


@contextmanager
def tables_shared() -> Generator[None]:
    """A context in which nothing changes, so that tables are made once."""
    token = _TABLES.set({})
    try:
        yield
    finally:
        _TABLES.reset(token)


def shared_table(module: Operation, make: Callable[[Operation], TableT]) -> TableT:
    """The table that a function makes of a module, made again for each call outside of `tables_shared`."""
    if (tables := _TABLES.get()) is None:
        return make(module)
    key = id(module), make
    if key not in tables:
        tables[key] = make(module)
    return cast(TableT, tables[key])
