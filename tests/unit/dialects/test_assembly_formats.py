"""Assembly formats: parsed when first used, so that each needs a test; those of plugins fail at once."""

from __future__ import annotations

from inspect import getclosurevars

import pytest
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError

from stepwell.dialects._xdsl import DIALECTS, LateFormat, all_dialects


def _format_of(op_class: type[Operation]) -> LateFormat | None:
    """The format by which ops of a class are printed; None where they are printed otherwise."""
    return getclosurevars(op_class.print).nonlocals.get("assembly_program")


@pytest.mark.parametrize("name", [*DIALECTS, "affine", "linalg", "math", "memref", "scf", "tensor"])
def test_every_format_of_ours_is_well_formed(name: str) -> None:
    formats = [_format_of(op_class) for op_class in all_dialects()[name]().operations]
    for late in formats:
        assert late is None or late.program.stmts


def _define(name: str) -> type[IRDLOperation]:
    wrong = {"name": name, "assembly_format": "$no_such_operand attr-dict"}
    return irdl_op_definition(type("Op", (IRDLOperation,), wrong))


def test_a_wrong_format_of_a_plugin_fails_where_it_is_defined() -> None:
    with pytest.raises(PyRDLOpDefinitionError, match="assembly format"):
        _define("outside.wrong")
    late = _format_of(_define("graph.wrong"))
    assert late is not None
    with pytest.raises(ParseError, match="no_such_operand"):
        assert late.program
