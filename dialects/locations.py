"""Locations that survive rewriting: xDSL's rewriter gives new ops none."""

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Operation


def adopt_location(op: Operation, location: Attribute) -> None:
    """Give a new op, and the ops inside it, a location where they have none."""
    for inner in op.walk():
        if isinstance(inner.location, UnknownLoc):
            inner.location = location  # pyright: ignore[reportAttributeAccessIssue]
