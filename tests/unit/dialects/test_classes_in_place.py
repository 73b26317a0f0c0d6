"""Ops that become ops of another class in place are as new ones in their places would be."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import NameLoc, StringAttr, UnitAttr, UnknownLoc, VectorType, f32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Operation

from stepwell.dialects._xdsl import set_class, set_type
from stepwell.dialects.arith import vector_form
from stepwell.lowering.loops_to_llvm import arithmetic

LANES = VectorType(f32, [8])
ROWS = [
    *((old, new, i64, {}) for old, new in arithmetic.INTEGER_OPS.items()),
    *(
        (vector_form(old), new, LANES, {"fastmathFlags": llvm.FastMathAttr("fast")})
        for old, new in arithmetic.FLOAT_OPS.items()
        if old is not arith.NegfOp
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "type", "properties"), ROWS, ids=lambda each: getattr(each, "name", "")
)
def test_the_class_changes_and_the_rest_stays(
    old: type[Operation], new: type[Operation], type: Attribute, properties: Mapping[str, Attribute]
) -> None:
    a, b = (made := TestOp(result_types=[type, type])).results
    location = NameLoc(StringAttr("node"), UnknownLoc())
    flags = {"overflowFlags": arith.IntegerOverflowAttr("none")} if old is arith.AddiOp else {}
    op = old.create(
        operands=[a, b],
        result_types=[type],
        properties=flags,
        attributes={"note": UnitAttr()},
        location=location,
    )
    block = Block([made, op, user := TestOp([op.results[0]])])
    result = op.results[0]
    set_class(op, new, properties)
    fresh = new.create(operands=[a, b], result_types=[type], properties=properties)
    assert op.__class__ is new and (op.properties, op.attributes) == (fresh.properties, {})
    assert str(op) == str(fresh)
    fresh.erase()
    op.verify()
    assert [use.operation for use in a.uses] == [use.operation for use in b.uses] == [op]
    assert list(user.operands) == [result] and result.owner is op and [*block.ops] == [made, op, user]
    assert op.location == location


def test_the_type_of_a_result_may_change_too() -> None:
    (value,) = TestOp(result_types=[LANES]).results
    op = vector_form(arith.NegfOp).create(operands=[value], result_types=[f32])
    set_type(op.results[0], LANES)
    set_class(op, llvm.FNegOp, {})
    op.verify()
    assert op.results[0].type == LANES
