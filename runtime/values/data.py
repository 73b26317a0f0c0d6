"""`Data`: a value of an algebraic data type, as users see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from stepwell.runtime.errors import StepwellError

MAX_SHOWN = 20
"""The most fields that the text of a value shows."""


class Data:
    """
    A value of a data type: the name of its constructor, and its fields.

    Fields are arrays, tuples, lists, other data, or functions. Values compare by structure. Python's `match`
    takes them apart: `case Data(constructor="Cons", fields=(head, tail))`, or `case List.Cons(head, tail)`
    with the class of a constructor.
    """

    __slots__ = ("constructor", "fields")
    __match_args__: ClassVar[tuple[str, ...]] = ("constructor", "fields")
    data_type: ClassVar[str] = ""
    """The name of the data type, where the class is that of one constructor."""
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # fields are arrays, which have none

    def __init__(self, constructor: str, fields: Sequence[object] = ()):
        self.constructor = constructor
        self.fields = tuple(fields)

    @staticmethod
    def subclass(data_type: str, constructor: str, arity: int) -> type[Data]:
        """The class of the values of one constructor: called with fields, and matched by them."""
        names = tuple(f"field{index}" for index in range(arity))

        def init(self: Data, *fields: object) -> None:
            if len(fields) != arity:
                message = f"{constructor} has {arity} fields, found {len(fields)}"
                raise StepwellError("type-mismatch", None, message)
            Data.__init__(self, constructor, fields)

        body: dict[str, object] = {
            "__slots__": (),
            "__match_args__": names,
            "__init__": init,
            "__doc__": f"Data of constructor `{constructor}` of `{data_type}`.",
            "data_type": data_type,
        }
        body |= {name: property(_field(index)) for index, name in enumerate(names)}
        return cast("type[Data]", type(constructor, (Data,), body))

    def __reduce__(self) -> tuple[Callable[[Sequence[object]], Data], tuple[list[object]]]:
        """The value as a flat list, inner values first, so that copying and pickling need no recursion."""
        return _assembled, (_flat(self),)

    def __eq__(self, other: object) -> bool:
        """Whether two values have the same structure and equal arrays; a long list needs no recursion."""
        pending: list[tuple[object, object]] = [(self, other)]
        while pending:
            a, b = pending.pop()
            if isinstance(a, Data) and isinstance(b, Data):
                if a.constructor != b.constructor or len(a.fields) != len(b.fields):
                    return False
                pending += zip(a.fields, b.fields, strict=True)
            elif type(a) in (tuple, list) and type(a) is type(b):
                left, right = cast("Sequence[object]", a), cast("Sequence[object]", b)
                if len(left) != len(right):
                    return False
                pending += zip(left, right, strict=True)
            elif isinstance(a, _COMPOUND) or isinstance(b, _COMPOUND) or not _equal(a, b):
                return False
        return True

    def __repr__(self) -> str:
        """The value as constructors around their fields, of which 20 are shown."""
        parts: list[str] = []
        pending: list[object] = [self]
        shown = 0
        while pending:
            item = pending.pop()
            is_cut = shown > MAX_SHOWN
            if isinstance(item, _Text):
                parts += [] if is_cut and item == _SEPARATOR else [item]
                continue
            shown += 1
            if shown > MAX_SHOWN:
                parts += [] if is_cut else ["…"]
                continue
            fields, opening, closing = _opened(item)
            parts.append(opening)
            # Of a long list no more is looked at than is shown.
            some = fields[: MAX_SHOWN + 1]
            inside = [part for field in some for part in (field, _SEPARATOR)][:-1]
            pending += reversed([*inside, _Text(closing)])
        return "".join(parts)


class _Text(str):
    """Text between the fields of a value, not a field."""

    __slots__ = ()


_SEPARATOR = _Text(", ")
_COMPOUND = (Data, tuple, list)
"""The classes of values with fields."""


def _field(index: int) -> Callable[[Data], object]:
    return lambda data: data.fields[index]


def _opened(item: object) -> tuple[Sequence[object], str, str]:
    """The fields of a value, and the text before and after them."""
    if isinstance(item, Data):
        return item.fields, item.constructor + ("(" if item.fields else ""), ")" if item.fields else ""
    if isinstance(item, list):
        return cast("list[object]", item), "[", "]"
    if isinstance(item, tuple):
        return cast("tuple[object, ...]", item), "(", ")"
    if isinstance(item, np.ndarray | np.generic):
        return (), np.array2string(np.asarray(cast(Any, item)), separator=", ", threshold=8), ""
    return (), repr(item), ""


class _Node(NamedTuple):
    """A value with fields in a flat list, after them."""

    constructor: str
    data_type: str
    """Of data; `list` and `tuple` have neither constructor nor data type, but a number of fields."""
    fields: int


def _flat(value: object) -> list[object]:
    """A value as a list of leaves and nodes; each node comes after its fields."""
    reversed_: list[object] = []
    pending: list[object] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Data):
            fields: Sequence[object] = item.fields
            reversed_.append(_Node(item.constructor, item.data_type, len(fields)))
        elif type(item) in (list, tuple):
            fields = cast("Sequence[object]", item)
            reversed_.append(_Node("", type(item).__name__, len(fields)))
        else:
            reversed_.append(item)
            continue
        pending += fields
    return reversed_[::-1]


def _assembled(flat: Sequence[object]) -> Data:
    """The data of a flat list."""
    done: list[object] = []
    for item in flat:
        if not isinstance(item, _Node):
            done.append(item)
            continue
        start = len(done) - item.fields
        fields = done[start:]
        del done[start:]
        if item.constructor:
            data = Data(item.constructor, fields)
            done.append(data)
        else:
            done.append(fields if item.data_type == "list" else tuple(fields))
    return cast(Data, done[0])


def _equal(a: object, b: object) -> bool:
    """Whether two leaves are equal: arrays of one shape and element type with equal elements."""
    arrays = (np.ndarray, np.generic)
    if isinstance(a, arrays) and isinstance(b, arrays):
        x, y = np.asarray(cast(Any, a)), np.asarray(cast(Any, b))
        return bool(x.dtype == y.dtype and np.array_equal(x, y))
    return a is b or bool(a == b)
