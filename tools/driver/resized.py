"""Inputs of another size than the model's file fixes: whether its graph allows them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from stepwell.dialects.graph.relations import shape_text
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.tools.driver.compilation import Compilation, main_of

_OF_SIZES = ("bad-shape", "invalid-ir", "invalid-model", "shape-mismatch", "too-large")
"""The codes of errors that a size leads to which the model is not made for."""
_HELP = "export the model with a dynamic dimension"


@contextmanager
def resizing(compilation: Compilation) -> Generator[None]:
    """
    Check that the conversion to level 1 goes with inputs of other sizes.

    Raises: StepwellError `shape-mismatch` with the node that does not allow them.
    """
    if not compilation.resized:
        yield
        return
    sizes = [str(resized) for resized in compilation.resized]
    declared = main_of(compilation.module).function_type.outputs.data
    try:
        yield
    except InternalError:
        raise
    except StepwellError as error:
        if error.code not in _OF_SIZES:
            raise
        notes = [*error.notes, *sizes]
        raise StepwellError("shape-mismatch", error.where, error.message, note=notes, help=_HELP) from None
    _expect_batch_apart(compilation, declared)


def _expect_batch_apart(compilation: Compilation, declared: Sequence[Attribute]) -> None:
    """
    Refuse outputs in which a batch of another size ended up in other dimensions than the first.

    A Reshape to [1, -1] is such a case: its node is legal for any batch, and mixes the rows of one.
    Raises: StepwellError `shape-mismatch`.
    """
    changes = {(resized.before, resized.after) for resized in compilation.resized}
    if any(resized.axis for resized in compilation.resized) or len(changes) != 1:
        return  # no batch
    returned = cast(Operation, main_of(compilation.module).body.block.last_op)
    for value, type in zip(returned.operands, declared, strict=True):
        types = type, value.type
        if not all(isinstance(each, TensorType) for each in types):
            continue
        wanted, found = map(dims_of, types)
        if len(wanted) != len(found) or not _are_apart(wanted[1:], found[1:], changes):
            message = (
                f"an output is {shape_text(wanted)} in the model's file, and would be {shape_text(found)}"
            )
            notes = ["the rows of a batch would not stay apart", *map(str, compilation.resized)]
            raise StepwellError("shape-mismatch", value.owner, message, note=notes, help=_HELP)


def _are_apart(wanted: Sequence[Dim], found: Sequence[Dim], changes: set[tuple[int, int]]) -> bool:
    """Whether dimensions after the first are as declared, or changed as that of an input did."""
    return all(
        not (a.is_static and b.is_static) or a == b or (a.value, b.value) in changes
        for a, b in zip(wanted, found, strict=True)
    )
