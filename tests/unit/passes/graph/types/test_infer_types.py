"""`infer-types`: erased types come back or are asked for, no other ones; the work is linear."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseArrayBase, FunctionType, ModuleOp, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext, set_type
from stepwell.dialects.incomplete import has_holes
from stepwell.dialects.parser import parse_module
from stepwell.dialects.type_variables import HoleType
from stepwell.dialects.types import tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.passes.graph.types.type_solver import TypeSolver
from stepwell.runtime.errors import StepwellError
from tests.support.samples import examples
from tests.unit.passes.graph.test_graph_passes_random import random_module


def values_of(module: ModuleOp) -> list[SSAValue]:
    """The values of a module, but for constants, whose text has no type beside their value's."""
    return [
        value
        for op in module.walk()
        for value in (*op.results, *(a for region in op.regions for b in region.blocks for a in b.args))
        if not isinstance(op, graph.ConstantOp | graph.TupleOp)
    ]


def erase(module: ModuleOp, is_erased: Callable[[SSAValue], bool]) -> int:
    """Put holes in the places of types of values, and of the function's results; returns how many."""
    count = 0
    for number, value in enumerate(values_of(module)):
        if is_erased(value):
            set_type(value, HoleType(f"t{number}"))
            count += 1
    for function in module.ops:
        assert isinstance(function, FuncOp)
        last = function.body.block.last_op
        assert last is not None
        type = FunctionType.from_lists(list(function.body.block.arg_types), list(last.operand_types))
        function.properties["function_type"] = type
    return count


def is_input(value: SSAValue) -> bool:
    return isinstance(value.owner, Block) and isinstance(value.owner.parent_op(), FuncOp)


def is_counter(value: SSAValue) -> bool:
    """The number of an iteration, whose type the text does not have."""
    op = value.owner.parent_op() if isinstance(value.owner, Block) else None
    return isinstance(op, graph.ForOp) and value.owner.args[0] is value  # pyright: ignore


@examples(60)
@given(st.data())
def test_types_of_results_come_back(data: st.DataObject) -> None:
    ctx = StepwellContext()
    module = random_module(data, ctx)
    expected = str(module)
    rng = data.draw(st.randoms(use_true_random=False))
    share = data.draw(st.sampled_from([0.3, 1.0]))
    erased = erase(module, lambda v: not is_input(v) and not is_counter(v) and rng.random() < share)
    read = parse_module(ctx, str(module))
    assert str(read) == str(module)
    verify_module(read)
    run_pipeline(read, "infer-types", ctx)
    assert str(read) == expected, erased
    run_pipeline(read, "infer-types", ctx)
    assert str(read) == expected


@examples(60)
@given(st.data())
def test_no_other_types_are_found(data: st.DataObject) -> None:
    """Inputs are erased too: what is forced is what was there, and what is not is asked for."""
    ctx = StepwellContext()
    module = random_module(data, ctx)
    expected = str(module)
    rng = data.draw(st.randoms(use_true_random=False))
    erase(module, lambda v: not is_counter(v) and rng.random() < 0.7)
    try:
        run_pipeline(module, "infer-types", ctx)
    except StepwellError as error:
        assert error.code == "incomplete-types", error
        assert error.notes
    else:
        assert str(module) == expected


def chain(length: int, last: Attribute, make: Callable[[SSAValue, Attribute], Operation]) -> ModuleOp:
    """A function of so many ops in a row, of which the type of the last result is known."""
    block = Block(arg_types=[HoleType("x")])
    value: SSAValue = block.args[0]
    for number in range(length):
        op = make(value, last if number == length - 1 else HoleType(f"t{number}"))
        block.add_op(op)
        value = op.results[0]
    block.add_op(ReturnOp(value))
    return ModuleOp([FuncOp("main", FunctionType.from_lists([HoleType("x")], [last]), Region(block))])


def transposed(value: SSAValue, type: Attribute) -> Operation:
    perm = DenseArrayBase.from_list(i64, [1, 0])
    return graph.TransposeOp.create(operands=[value], result_types=[type], properties={"perm": perm})


def negated(value: SSAValue, type: Attribute) -> Operation:
    return graph.NegOp.create(operands=[value], result_types=[type])


@pytest.mark.parametrize("make", [transposed, negated])
def test_work_is_linear(make: Callable[[SSAValue, Attribute], Operation]) -> None:
    """A chain whose types are known only at the far end takes at most three evaluations an op."""
    type = tensor_type(f32, [2, 3])
    module = chain(1000, type, make)
    solver = TypeSolver([op for op in module.ops if isinstance(op, FuncOp)], lambda op: None)
    solver.solve()
    solver.write_types()
    assert not has_holes(module)
    assert values_of(module)[0].type == type
    assert solver.evaluations <= 3 * 1000


def test_holes_of_one_name_are_one() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>, %a: !graph.hole<"t">, %b: !graph.hole<"t">) -> tensor<4xf32> {
      %y = graph.neg %a : !graph.hole<"t"> -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    func.func @other(%a: !graph.hole<"t">) -> tensor<5xi64> {
      %y = graph.neg %a : !graph.hole<"t"> -> tensor<5xi64>
      func.return %y : tensor<5xi64>
    }"""
    module = parse_module(StepwellContext(), text)
    run_pipeline(module, "infer-types")
    assert "%b: tensor<4xf32>" in str(module)
    assert "@other(%a: tensor<5xi64>)" in str(module)


def test_a_conflict_names_both_places() -> None:
    text = """
    func.func @main(%h: !graph.hole<"h">) -> tensor<5xf32> {
      %y = graph.neg %h : !graph.hole<"h"> -> tensor<4xf32> loc("first")
      %z = graph.relu %h : !graph.hole<"h"> -> tensor<5xf32> loc("second")
      func.return %z : tensor<5xf32>
    }"""
    with pytest.raises(StepwellError) as caught:
        run_pipeline(parse_module(StepwellContext(), text), "infer-types")
    assert caught.value.code == "type-mismatch"
    rendered = caught.value.render()
    assert "first" in rendered
    assert "second" in rendered


def test_constraints_are_checked_when_the_operands_have_types() -> None:
    text = """
    func.func @main(%h: !graph.hole<"h">) -> tensor<4xi32> {
      %f = graph.floor %h : !graph.hole<"h"> -> !graph.hole<"f">
      %y = graph.neg %h : !graph.hole<"h"> -> tensor<4xi32>
      func.return %y : tensor<4xi32>
    }"""
    with pytest.raises(StepwellError) as caught:
        run_pipeline(parse_module(StepwellContext(), text), "infer-types")
    assert caught.value.code == "type-mismatch"


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ('%y = graph.neg %h : !graph.hole<"h"> -> !graph.hole<"y">', "waits for the type of %h"),
        ('%y = graph.add %x, %h : (tensor<4xf32>, !graph.hole<"h">) -> !graph.hole<"y">', "the shape of %h"),
    ],
)
def test_untyped_values_say_what_they_wait_for(text: str, waits: str) -> None:
    module = parse_module(
        StepwellContext(),
        f'func.func @main(%x: tensor<4xf32>, %h: !graph.hole<"h">) {{ {text}\n func.return }}',
    )
    with pytest.raises(StepwellError) as caught:
        run_pipeline(module, "infer-types")
    assert caught.value.code == "incomplete-types"
    assert any(waits in note for note in caught.value.notes), caught.value.notes


def test_a_type_that_doubles_is_refused() -> None:
    lines: list[str] = []
    for n in range(30):
        lines.append(f"%p{n} = graph.tuple %t{n}, %t{n} : {_hole(n)}, {_hole(n)}")
        pair = f"tuple<{_hole(n)}, {_hole(n)}>"
        lines.append(f'%c{n} = ref.new %p{n} : {pair} -> !graph.hole<"c{n}">')
        lines.append(f'%t{n + 1} = ref.read %c{n} : !graph.hole<"c{n}"> -> {_hole(n + 1)}')
    text = f"func.func @main(%t0: tensor<4xf32>) {{ {' '.join(lines)} func.return }}"
    with pytest.raises(StepwellError) as caught:
        run_pipeline(
            parse_module(StepwellContext(), text.replace('!graph.hole<"t0">', "tensor<4xf32>")), "infer-types"
        )
    assert caught.value.code == "too-large"


def _hole(number: int) -> str:
    return f'!graph.hole<"t{number}">'
