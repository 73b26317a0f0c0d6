"""Rows of the tables of tuned constants: fields of frozen dataclasses, each with its unit and CPU."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field
from typing import TypeVar

ZEN4 = "AMD EPYC (Zen 4), 2 cores"
UNKNOWN = "unknown"

Number = TypeVar("Number", int, float)


def tuned(value: Number, unit: str, cpu: str = ZEN4) -> Number:
    """A row: the value of a constant, its unit, and the CPU on which the value was found."""
    return field(default=value, metadata={"unit": unit, "cpu": cpu})


@contextmanager
def overridden(table: object, **values: float) -> Generator[None]:
    """
    Other values for constants of a table, in this process: for measurements and tests, without caches.

    Raises: AttributeError for a name that the table does not have.
    """
    before = {name: getattr(table, name) for name in values}
    try:
        for name, value in values.items():
            object.__setattr__(table, name, value)
        yield
    finally:
        for name, value in before.items():
            object.__setattr__(table, name, value)
