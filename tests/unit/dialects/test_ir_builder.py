"""The builder of new IR: insertion, locations, constants, folding, index algebra, remembered values."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    VectorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from stepwell.dialects.ir_builder import Constants, Index, IRBuilder, number_attr
from stepwell.runtime.dims import Dim

INDEX = IndexType()
LOW, HIGH = -(1 << 63), (1 << 63) - 1


def named(name: str) -> NameLoc:
    return NameLoc(StringAttr(name), NoneAttr())


def function(arguments: int = 2) -> func.FuncOp:
    """A function on indices whose body returns nothing."""
    types = [INDEX] * arguments
    made = func.FuncOp("f", FunctionType.from_lists(types, []), Region(Block(arg_types=types)))
    made.location = named("f")
    made.body.block.add_op(func.ReturnOp())
    return made


def builder_in(function: func.FuncOp, constants: Constants | None = None) -> IRBuilder:
    last = function.body.block.last_op
    assert last is not None
    return IRBuilder(InsertPoint.before(last), named("op"), constants=constants)


def maker(value: Index) -> Operation:
    """The op that makes a value."""
    assert isinstance(value, SSAValue) and isinstance(value.owner, Operation)
    return value.owner


def ops_of(function: func.FuncOp) -> list[str]:
    return [op.name for op in function.body.block.ops]


def evaluated(value: Index, arguments: dict[SSAValue, int]) -> int:
    """The number of an index, computed from the ops that make it."""
    if isinstance(value, int):
        return value
    if value in arguments:
        return arguments[value]
    op = maker(value)
    if isinstance(op, arith.ConstantOp):
        assert isinstance(op.value, IntegerAttr)
        return op.value.value.data
    a, b = (evaluated(operand, arguments) for operand in op.operands)
    meaning = {
        "arith.addi": a + b,
        "arith.subi": a - b,
        "arith.muli": a * b,
        "arith.floordivsi": a // b if b else 0,
        "arith.ceildivsi": -(-a // b) if b else 0,
        "arith.minsi": min(a, b),
        "arith.maxsi": max(a, b),
    }
    return meaning[op.name]


# Insertion


def test_ops_go_before_an_op_after_one_and_to_the_end() -> None:
    f = function()
    (last,) = f.body.block.ops
    first = IRBuilder.before(last).insert(arith.ConstantOp(IntegerAttr(1, i32)))
    IRBuilder.after(first).insert([arith.ConstantOp(IntegerAttr(n, i32)) for n in (2, 3)])
    block = Block()
    IRBuilder.at_end(block).insert(scf.YieldOp())
    numbers = [op.value.value.data for op in f.body.block.ops if isinstance(op, arith.ConstantOp)]  # pyright: ignore
    assert numbers == [1, 2, 3]
    assert f.body.block.last_op is last and block.last_op is not None


def test_a_builder_on_a_rewriter_tells_its_listeners() -> None:
    f = function()
    (last,) = f.body.block.ops
    rewriter = PatternRewriter(last)
    seen: list[Operation] = []
    rewriter.operation_insertion_handler.append(seen.append)
    made = IRBuilder.on(rewriter).plus(f.args[0], 1)
    assert rewriter.has_done_action
    assert seen == list(f.body.block.ops)[:-1] and maker(made) is seen[-1]


# Locations


def test_new_ops_get_the_location_and_those_with_one_keep_it() -> None:
    f = function()
    b = builder_in(f)
    own = arith.ConstantOp(IntegerAttr(1, i32))
    own.location = named("own")
    inner = arith.ConstantOp(IntegerAttr(2, i32))
    condition = b.value(arith.ConstantOp(IntegerAttr.from_bool(True)))
    b.insert(own)
    outer = b.insert(scf.IfOp(condition, [], [inner, scf.YieldOp()]))
    assert own.location == named("own")
    assert outer.location == inner.location == named("op")


def test_the_ops_of_loops_and_arithmetic_have_locations() -> None:
    f = function()
    b = builder_in(f, constants=Constants(f))
    b.loop(0, f.args[0], 1, [f.args[1]], lambda inside, i, carried: [inside.extent(2 + 0)])
    b.most(b.minus(f.args[0], 3), f.args[1])
    ops = [op for op in f.walk() if not isinstance(op, func.FuncOp | func.ReturnOp)]
    assert len(ops) > 5 and not any(isinstance(op.location, UnknownLoc) for op in ops)


def test_moving_down_takes_the_location_of_the_op() -> None:
    f = function()
    b = builder_in(f)
    (last,) = f.body.block.ops
    last.location = named("last")
    b.move_before(last)
    assert b.insert(arith.ConstantOp(IntegerAttr(1, i32))).location == named("last")


# Constants


def test_constants_of_a_function_are_made_once_and_dominate_all_uses() -> None:
    f = function()
    constants = Constants(f)
    b = builder_in(f, constants=constants)
    outer = b.value(arith.IndexCastOp(f.args[0], i32))
    b.loop(0, f.args[0], 1, [f.args[1]], lambda inside, i, carried: [inside.materialize(7)])
    again = IRBuilder.before(maker(outer), constants).materialize(7)
    sevens = [op for op in f.walk() if isinstance(op, arith.ConstantOp) and op.value == number_attr(7, INDEX)]
    assert [op.result for op in sevens] == [again]
    f.verify()
    names = ops_of(f)
    first_other = next(i for i, name in enumerate(names) if name != "arith.constant")
    assert "arith.constant" not in names[first_other:]


def test_leading_constants_are_used_again_and_later_ones_are_not() -> None:
    f = function()
    b = builder_in(f)
    late = b.value(arith.IndexCastOp(f.args[0], i32))
    unusable = b.insert(arith.ConstantOp(IntegerAttr(5, INDEX)))
    made = Constants(f)
    assert made.index(5) is not unusable.result
    assert Constants(f).index(5) is made.index(5)
    assert late.owner is not None


def test_without_a_function_constants_are_made_once_in_a_scope() -> None:
    f = function()
    b = builder_in(f)
    block = Block()
    inside = b.inside(block)
    assert inside.materialize(4) is inside.materialize(4)
    known = b.materialize(4)
    assert known is not inside.materialize(4), "what a region makes is not known outside of it"
    assert b.inside(Block()).materialize(4) is known


@pytest.mark.parametrize(
    "type, number",
    [(f32, 1.5), (i32, 3), (INDEX, -2), (VectorType(f32, [4]), 0.5), (VectorType(i32, [2]), 7)],
)
def test_a_number_is_a_constant_of_its_type(type: Attribute, number: float) -> None:
    f = function()
    value = builder_in(f).number(number, type)
    assert value.type == type
    ModuleOp([f]).verify()


def test_a_type_without_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match="no constant of type"):
        number_attr(1, FunctionType.from_lists([], []))


# Folding


def test_numbers_fold_without_ops() -> None:
    f = function()
    b = builder_in(f)
    assert b.plus(2, 3) == 5 and b.minus(2, 3) == -1 and b.times(-4, 3) == -12
    assert b.least(2, -3) == -3 and b.most(2, -3) == 2
    assert b.quotient(17, 4) == 4 and b.remainder(17, 4) == 1 and b.rounded_down(17, 4) == 16
    assert b.extent(6) is b.materialize(6)
    assert ops_of(f) == ["arith.constant", "func.return"]


@pytest.mark.parametrize(
    "a, b, floor, ceil", [(7, 2, 3, 4), (-7, 2, -4, -3), (7, -2, -4, -3), (-7, -2, 3, 4), (-8, 2, -4, -4)]
)
def test_division_of_numbers_rounds_as_its_op(a: int, b: int, floor: int, ceil: int) -> None:
    builder = builder_in(function())
    assert builder.floordiv(a, b) == floor and builder.ceildiv(a, b) == ceil


def test_sums_and_products_wrap_as_the_machine() -> None:
    b = builder_in(function())
    assert b.plus(HIGH, 1) == LOW and b.minus(LOW, 1) == HIGH
    assert b.times(1 << 62, 2) == LOW and b.times(1 << 62, 4) == 0
    assert b.floordiv(LOW, -1) == LOW


def test_what_has_no_number_is_left_to_an_op() -> None:
    b = builder_in(function())
    for made, name in [
        (b.floordiv(4, 0), "arith.floordivsi"),
        (b.ceildiv(4, 0), "arith.ceildivsi"),
        (b.quotient(-4, 2), "arith.divui"),
        (b.remainder(-4, 3), "arith.remui"),
    ]:
        assert maker(made).name == name


def test_neutral_numbers_leave_a_value_as_it_is() -> None:
    f = function()
    b, x = builder_in(f), f.args[0]
    same = [b.plus(x, 0), b.plus(0, x), b.minus(x, 0), b.times(x, 1), b.times(1, x), b.floordiv(x, 1)]
    same += [b.ceildiv(x, 1), b.quotient(x, 1), b.rounded_down(x, 1)]
    assert all(value is x for value in same) and b.remainder(x, 1) == 0
    assert ops_of(f) == ["func.return"]


def test_neither_a_difference_nor_a_quotient_is_swapped() -> None:
    f = function()
    b, x = builder_in(f), f.args[0]
    assert evaluated(b.minus(3, x), {x: 5}) == -2
    assert evaluated(b.floordiv(9, x), {x: 2}) == 4 and evaluated(b.ceildiv(9, x), {x: 2}) == 5


# The values that a scope remembers


def test_a_sum_is_made_once_and_again_after_it_was_erased() -> None:
    f = function()
    b, x = builder_in(f, constants=Constants(f)), f.args[0]
    first = b.plus(x, 3)
    assert b.plus(3, x) is first and b.plus(x, 4) is not first
    f.body.block.erase_op(maker(first))
    again = b.plus(x, 3)
    assert again is not first and maker(again) in list(f.body.block.ops)


def test_a_sum_of_an_erased_value_is_not_taken_for_that_of_another() -> None:
    # Python gives new objects the address of dead ones: memory by `id` mixes up their sums.
    f = function()
    b, wrong = builder_in(f, constants=Constants(f)), 0
    for _ in range(50):
        base = b.value(arith.AddiOp(f.args[0], f.args[1]))
        total = b.plus(base, 3)
        wrong += maker(total).operands[0] is not base
        f.body.block.erase_op(maker(total))
        f.body.block.erase_op(maker(base))
        del base, total
    assert wrong == 0


def test_an_erased_constant_is_made_again() -> None:
    f = function()
    constants = Constants(f)
    f.body.block.erase_op(maker(constants.index(3)))
    assert constants.index(3).owner in list(f.body.block.ops)


def test_a_nested_scope_knows_what_is_outside() -> None:
    f = function()
    b, x = builder_in(f), f.args[0]
    known = b.plus(x, 3)
    inside = b.inside(Block())
    assert inside.plus(x, 3) is known
    inside.plus(x, 5)
    assert b.plus(x, 5) is not inside.plus(x, 5)


# Dimension expressions


@pytest.mark.parametrize(
    "text",
    ["N", "2 * N + 1", "N * M - 3", "N floordiv 2", "(N + M) ceildiv 3", "min(N, M) + 4", "max(N - M, 0)"],
)
@pytest.mark.parametrize("n, m", [(7, 5), (0, 9), (1, 1)])
def test_an_extent_is_the_value_of_its_expression(text: str, n: int, m: int) -> None:
    f = function()
    symbols: dict[str, SSAValue] = dict(zip("NM", f.args, strict=True))
    last = f.body.block.last_op
    assert last is not None
    b = IRBuilder(InsertPoint.before(last), symbols=symbols)
    value = b.extent(Dim.of(text))
    expected = Dim.of(text).evaluate({"N": n, "M": m})
    assert evaluated(value, {f.args[0]: n, f.args[1]: m}) == expected
    count = len(ops_of(f))
    assert b.extent(Dim.of(text)) is value and len(ops_of(f)) == count


def test_a_symbol_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        builder_in(function()).extent(Dim.of("K"))


# The other ways to build


def test_a_builder_of_a_list_remembers_ops_that_are_in_no_block_yet() -> None:
    f = function()
    ops: list[Operation] = []
    b = IRBuilder(InsertPoint.at_end(Block()), ops=ops)
    total = b.plus(f.args[0], 3)
    assert b.plus(f.args[0], 3) is total
    assert [op.name for op in ops] == ["arith.constant", "arith.addi"] and ops_of(f) == ["func.return"]


@pytest.mark.parametrize(
    "type, predicate, name, number",
    [
        (i32, "slt", "arith.cmpi", 2),
        (f32, "ogt", "arith.cmpf", 2),
        (VectorType(i32, [4]), "ult", "arith.cmpi", 6),
        (VectorType(f32, [4]), "ult", "arith.cmpf", 11),
    ],
)
def test_a_comparison_is_one_of_its_operands_type(
    type: Attribute, predicate: str, name: str, number: int
) -> None:
    f = function()
    b = builder_in(f)
    made = maker(b.compare(predicate, b.number(1, type), b.number(2, type)))
    assert made.name == name and made.properties["predicate"] == IntegerAttr(number, 64)
    f.verify()


def test_a_loop_carries_the_values_of_its_body() -> None:
    f = function()
    b = builder_in(f, constants=Constants(f))
    (result,) = b.loop(
        0, f.args[0], 2, [f.args[1]], lambda inside, i, c: [inside.materialize(inside.plus(c[0], i))]
    )
    loop = maker(result)
    assert isinstance(loop, scf.ForOp) and evaluated(loop.lb, {}) == 0 and evaluated(loop.step, {}) == 2
    f.verify()


@pytest.mark.parametrize("type", [f32, VectorType(f32, [4])])
def test_zeros_of_both_signs_are_two_constants(type: Attribute) -> None:
    """They are equal numbers, and constants are remembered."""
    for number, text in ((0.0, "0.000000e+00"), (-0.0, "-0.000000e+00"), (0.0, "0.000000e+00")):
        assert str(number_attr(number, type)).startswith((text, f"dense<{text}>"))
