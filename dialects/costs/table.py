"""Tables of tuned constants: classes whose attributes are numbers, each with its unit and CPU."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

ZEN4 = "AMD EPYC (Zen 4), 2 cores"
UNKNOWN = "unknown"

Number = TypeVar("Number", int, float)


class Row(NamedTuple):
    """A tuned constant: its value, the value's unit, and the CPU on which it was found."""

    value: float
    unit: str
    cpu: str


def tuned(value: Number, unit: str, cpu: str = ZEN4) -> Number:
    """A row of a table, whose attribute is the value."""
    return cast(Any, Row(value, unit, cpu))


class Table:
    """A table of tuned constants. It is no dataclass, since to make one takes a millisecond."""

    rows: ClassVar[Mapping[str, Row]] = {}
    """The rows by the name of their attribute."""

    def __init_subclass__(cls) -> None:
        cls.rows = {name: row for name, row in vars(cls).items() if isinstance(row, Row)}
        for name, row in cls.rows.items():
            setattr(cls, name, row.value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} is a constant: `overridden` changes one inside of a block")


@contextmanager
def overridden(table: Table, **values: float) -> Generator[None]:
    """
    Other values for constants of a table, in this process: for measurements and tests, without caches.

    Raises: AttributeError for a name that the table does not have.
    """
    before = {name: getattr(table, name) for name in values}
    try:
        vars(table).update(values)
        yield
    finally:
        vars(table).update(before)
