"""All that the text of IR follows from, which takes a fraction of the time to compare."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import Operation

Structure: TypeAlias = list[object]


def structure(op: Operation) -> Structure:
    """
    The ops below an op with what is printed of them, and their locations: equal lists have equal texts.

    Ops, values and blocks are equal to themselves alone; attributes by value, which their identity often
    decides.
    """
    found: Structure = []
    for inner in op.walk():
        found += (inner, inner.parent, inner.location, *inner.operands, None, *inner.successors)
        for facts in (inner.properties, inner.attributes):
            found += (None, *facts, *facts.values())
        for result in inner.results:
            found += (result.type, result.name_hint)
        for region in inner.regions:
            for block in region.blocks:
                found.append(block)
                for arg in block.args:
                    found += (arg.type, arg.name_hint)
    return found
