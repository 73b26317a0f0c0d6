"""`Data`: a value of an algebraic data type, as users see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np

MAX_SHOWN = 20
"""The most fields that the text of a value shows."""


class Data:
    """
    A value of a data type: the name of its constructor, and its fields.

    Fields are arrays, tuples, other data, or functions. Values compare by structure. Python's `match` takes
    them apart: `case Data(constructor="Cons", fields=(head, tail))`.
    """

    __slots__ = ("constructor", "fields")
    __match_args__: ClassVar[tuple[str, ...]] = ("constructor", "fields")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # fields are arrays, which have none

    def __init__(self, constructor: str, fields: Sequence[object] = ()):
        self.constructor = constructor
        self.fields = tuple(fields)

    def __eq__(self, other: object) -> bool:
        """Whether two values have the same structure and equal arrays; a long list needs no recursion."""
        pending: list[tuple[object, object]] = [(self, other)]
        while pending:
            a, b = pending.pop()
            if isinstance(a, Data) and isinstance(b, Data):
                if a.constructor != b.constructor or len(a.fields) != len(b.fields):
                    return False
                pending += zip(a.fields, b.fields, strict=True)
            elif isinstance(a, tuple) and isinstance(b, tuple):
                left, right = cast("tuple[object, ...]", a), cast("tuple[object, ...]", b)
                if len(left) != len(right):
                    return False
                pending += zip(left, right, strict=True)
            elif isinstance(a, Data | tuple) or isinstance(b, Data | tuple) or not _equal(a, b):
                return False
        return True

    def __repr__(self) -> str:
        """The value as constructors around their fields, of which 20 are shown."""
        parts: list[str] = []
        pending: list[object] = [self]
        shown = 0
        while pending:
            item = pending.pop()
            if isinstance(item, _Text):
                parts.append(item)
                continue
            shown += 1
            if shown > MAX_SHOWN:
                parts.append("…")
                continue
            fields, name = _opened(item)
            if fields is None:
                parts.append(name)
                continue
            parts.append(name + "(" if fields or not name else name)
            inside = [part for field in fields for part in (field, _Text(", "))][:-1]
            closing = [_Text(")")] if fields or not name else []
            pending += reversed([*inside, *closing])
        return "".join(parts)


class _Text(str):
    """Text between the fields of a value, not a field."""

    __slots__ = ()


def _opened(item: object) -> tuple[Sequence[object] | None, str]:
    """The fields of a value and its name; None and its text for what has no fields."""
    if isinstance(item, Data):
        return item.fields, item.constructor
    if isinstance(item, tuple):
        return cast("tuple[object, ...]", item), ""
    if isinstance(item, np.ndarray | np.generic):
        return None, np.array2string(np.asarray(cast(Any, item)), separator=", ", threshold=8)
    return None, repr(item)


def _equal(a: object, b: object) -> bool:
    """Whether two leaves are equal: arrays of one shape and element type with equal elements."""
    arrays = (np.ndarray, np.generic)
    if isinstance(a, arrays) and isinstance(b, arrays):
        x, y = np.asarray(cast(Any, a)), np.asarray(cast(Any, b))
        return bool(x.dtype == y.dtype and np.array_equal(x, y))
    return a is b or bool(a == b)
