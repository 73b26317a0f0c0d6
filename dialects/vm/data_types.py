"""The constructors of a module's data types, as definitions of the dialect `adt` state them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

DATA = "adt.data"


def constructors_of(data: Operation) -> Sequence[tuple[str, Sequence[Attribute]]]:
    """
    The constructors of an `adt.data` in the order of their tags, each with the types of its fields; none for
    any other op.
    """
    if data.name != DATA:
        return ()
    found: list[tuple[str, Sequence[Attribute]]] = []
    for op in data.walk():
        name, fields = op.properties.get("sym_name"), op.properties.get("fields")
        if op is not data and isinstance(name, StringAttr):
            found.append(
                (
                    name.data,
                    list(cast("ArrayAttr[Attribute]", fields)) if isinstance(fields, ArrayAttr) else [],
                )
            )
    return found
