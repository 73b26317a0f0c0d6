"""Structures of IR: equal where the text is, so that a pass that changed nothing needs no printing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.tools.explore.structure import structure

TEXT = """
func.func @f(%a: index, %n: index) -> index {
  %c = arith.constant 1 : index
  scf.for %i = %a to %n step %c {
    %x = arith.addi %i, %a : index
    %y = arith.addi %i, %n : index
  }
  %r = arith.addi %a, %n : index
  func.return %r : index
}
"""


def _move_out(ops: dict[str, Operation]) -> None:
    """Move the last op of the loop to after it: the order of all ops stays."""
    loop, op = ops["scf.for"], ops["scf.yield"]
    op.detach()
    assert loop.parent is not None
    loop.parent.insert_ops_after([op], loop)


def _swap(op: Operation) -> None:
    op.operands = list(reversed(op.operands))


CHANGES: dict[str, Callable[[dict[str, Operation]], object]] = {
    "operands": lambda ops: _swap(ops["arith.addi"]),
    "attribute": lambda ops: ops["arith.addi"].attributes.update(note=StringAttr("x")),
    "property": lambda ops: ops["arith.constant"].properties.update(
        value=IntegerAttr.from_index_int_value(2)
    ),
    "name": lambda ops: setattr(ops["arith.constant"].results[0], "name_hint", "d"),
    "argument": lambda ops: setattr(ops["scf.for"].regions[0].block.args[0], "name_hint", "j"),
    "location": lambda ops: setattr(ops["arith.addi"], "location", UnknownLoc()),
    "nesting": _move_out,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_text_is_a_change_of_the_structure(change: Callable[[dict[str, Operation]], object]):
    module = parse_module(StepwellContext(), TEXT)
    before = structure(module)
    assert structure(module) == before
    change({op.name: op for op in module.walk()})
    assert structure(module) != before
