"""The verifier: each check has a program that it refuses; data flow over branches, loops and kills."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import StateSpec
from stepwell.runtime.vm.instructions import TUPLE, ConstructorOf, Outputs
from stepwell.runtime.vm.program import (
    Code,
    Constant,
    Constructor,
    DataType,
    Function,
    Packed,
    Program,
    Signature,
    Type,
    data_of,
    tensor,
    tuple_of,
)
from stepwell.runtime.vm.verify import verify
from tests.support.samples import whole
from tests.support.vm import LENGTH, body, parsed

I64 = tensor("int64")
RET = Code("ret", (0,))
PAIR = DataType("Pair", ("A",), ("type",), (Constructor("P", (Type("variable", "A"), I64)),))
SEGMENT = Packed("s", False, (I64,), (I64,))


def program(*code: Code, parameters: int = 1, registers: int = 3, **others: object) -> Program:
    function = Function("f", parameters, registers, code)
    return Program((PAIR,), (), (SEGMENT,), (function,))._replace(**others)


def is_accepted(good: Program) -> bool:
    """Whether a program passes; the error of one that does not is shown."""
    verify(good)
    return True


def refused(bad: Program) -> str:
    with pytest.raises(StepwellError) as caught:
        verify(bad)
    assert caught.value.code == "bad-bytecode"
    return caught.value.message


def test_good_programs() -> None:
    assert is_accepted(parsed(LENGTH))
    pair = Code("alloc_adt", (1, ConstructorOf(0, 0), (0, 0)))
    assert is_accepted(program(pair, Code("ret", (1,))))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ((), "its last instruction does not leave the function"),
        ((Code("move", (1, 0)),), "its last instruction does not leave the function"),
        ((Code("ret", (3,)),), "register r3 of 3"),
        ((Code("move", (3, 0)), RET), "register r3 of 3"),
        ((Code("alloc_adt", (1, TUPLE, (0, 9))), RET), "register r9 of 3"),
        ((Code("goto", (0,)),), "instruction 0 does not begin a block"),
        ((Code("goto", (7,)),), "instruction 7 does not begin a block"),
        ((Code("move", (1, 0)), Code("goto", (1,)), RET), "instruction 1 does not begin a block"),
        ((Code("if", (0, 1, 5)), RET), "instruction 5 does not begin a block"),
        ((Code("switch", (0, ())),), "there is no block to go on at"),
        ((Code("load_const", (1, 0)), RET), "there is no constant #0"),
        ((Code("invoke", (1, 1, (0,))), RET), "there is no function 1"),
        ((Code("tail_invoke", (0, (0, 0))),), "a function of 1 parameters gets 2 arguments"),
        ((Code("alloc_closure", (1, 0, (0, 0))), RET), "a function of 1 parameters gets 2 arguments"),
        ((Code("invoke_packed", (1, (0,), Outputs((1,), False))), RET), "there is no packed function 1"),
        ((Code("invoke_packed", (0, (), Outputs((1,), False))), RET), "@s has 1 parameters and 1 results"),
        ((Code("invoke_packed", (0, (0,), Outputs((), False))), RET), "@s has 1 parameters and 1 results"),
        ((Code("alloc_adt", (1, ConstructorOf(1, 0), ())), RET), "there is no data type 1"),
        ((Code("alloc_adt", (1, ConstructorOf(-2, 0), ())), RET), "there is no data type -2"),
        ((Code("alloc_adt", (1, ConstructorOf(0, 1), ())), RET), "@Pair has 1 constructors"),
        ((Code("alloc_adt", (1, ConstructorOf(0, 0), (0,))), RET), "P has 2 fields, found 1"),
        ((Code("fatal", ("nonsense", "")),), "there is no error code 'nonsense'"),
        ((Code("alloc_tensor", (1, 0, 0, tensor("int64", "N"))), RET), "i64[N] is no tensor of known sizes"),
        ((Code("alloc_tensor", (1, 0, 0, data_of("Pair", I64))), RET), "is no tensor of known sizes"),
        ((Code("alloc_tensor_reg", (1, 0, 0, 0, "int63")), RET), "unknown element type 'int63'"),
        ((Code("alloc_tensor_reg", (1, 0, 0, 0, "object")), RET), "object is no element type"),
        ((Code("ret", (1,)),), "register r1 is read before it is written on every path"),
        ((Code("move", (1, 2)), RET), "register r2 is read before it is written on every path"),
        ((Code("invoke_packed", (0, (0,), Outputs((1,), True))), RET), "register r1 is read before"),
        ((Code("kill", (0,)), RET), "register r0 is read before it is written on every path"),
    ],
)  # fmt: skip
def test_instructions_that_are_refused(code: tuple[Code, ...], message: str) -> None:
    assert message in refused(program(*code))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p._replace(data=(PAIR, PAIR)), "the name of a data type occurs twice"),
        (lambda p: p._replace(functions=p.functions * 2), "the name of a function occurs twice"),
        (lambda p: p._replace(packed=(SEGMENT, SEGMENT)), "the name of a packed function occurs twice"),
        (lambda p: p._replace(data=(PAIR._replace(parameters=("B",)),)),
         "the type variable A is not declared"),
        (lambda p: p._replace(data=(PAIR._replace(kinds=()),)),
         "its variables and their kinds are not as many"),
        (lambda p: p._replace(data=(PAIR._replace(constructors=PAIR.constructors * 2),)),
         "occurs twice among P, P"),
        (lambda p: p._replace(data=(PAIR._replace(kinds=("sort",)),)), "there is no kind 'sort' of type"),
        (lambda p: p._replace(data=(PAIR._replace(name="a\0"),)), "a data type has no printable name"),
        (lambda p: p._replace(data=(PAIR._replace(parameters=("",)),)), "a name is not printed"),
        (lambda p: _typed(p, data_of("Pair")), "there is no data type Pair of 0 arguments"),
        (lambda p: _typed(p, data_of("Other")), "there is no data type Other of 0 arguments"),
        (lambda p: _typed(p, Type("variable", "A")), "the type variable A is not declared"),
        (lambda p: _typed(p, tensor("float32", "N +")), "tensor type"),
        (lambda p: _typed(p, tensor("!E")), "the type variable E is not declared"),
        (lambda p: _typed(p, Type("function", parts=(I64, I64))),
         "a function type needs its inputs and its outputs"),
        (lambda p: _typed(p, Type("cell")), "a cell type has 0 types inside"),
        (lambda p: _typed(p, tuple_of(Type("element", "string"))), "unknown element type"),
        (lambda p: _signed(p, Signature((), (I64,))), "its type has 0 inputs and 1 outputs"),
        (lambda p: _signed(p, Signature((I64,), ())), "its type has 1 inputs and 0 outputs"),
        (lambda p: _signed(p, Signature((I64,), (I64,), ("a", "b"))),
         "inputs and their names are not as many"),
        (lambda p: _stateful(p, _S, _S._replace(input=1)), "two of its states are one value"),
        (lambda p: _stateful(p, _S._replace(input=7)), "is input 7 and output None, which are not there"),
        (lambda p: _stateful(p, _S._replace(output=1)), "is input 0 and output 1, which are not there"),
        (lambda p: _stateful(p, _S, type=tuple_of(I64)), "expected a tensor whose sizes have names"),
        (lambda p: _stateful(p, _S, type=tensor("int64", "?")), "expected a tensor whose sizes have names"),
        (lambda p: _stateful(p, _S._replace(output=0), type=tensor("float32")),
         "the state 's' is f32[] before a call and i64[] after it"),
        (lambda p: _stateful(p, _S._replace(initial=9)), "begins with constant #9, which is not there"),
        (lambda p: _stateful(p, _S._replace(initial=0), type=tensor("int64", 2)),
         "the state 's' is i64[2] and begins with int64[]"),
        (lambda p: _stateful(p, _S._replace(axis=0)), "growing states have one length"),
        (lambda p: _stateful(p, _S._replace(adds=Dim.of(1))), "growing states have one length"),
        (lambda p: _stateful(p, _S._replace(axis=0, adds=Dim.of(1))), "grows along axis 0 of i64[]"),
        (lambda p: _stateful(p, _S._replace(axis=0, adds=Dim.of(1)), type=tensor("int64", 4)),
         "is the length of growing states and i64[4], not i64[]"),
        (lambda p: _stateful(p, _S, name="other"), "it has states, which are values of @main alone"),
        (lambda p: _function(p, registers=0), "1 parameters in 0 registers"),
        (lambda p: _function(p, registers=(1 << 16) + 1), "1 parameters in 65537 registers"),
    ],
)  # fmt: skip
def test_tables_that_are_refused(change: Callable[[Program], Program], message: str) -> None:
    assert message in refused(change(program(RET)))


def _function(program: Program, **others: int) -> Program:
    return program._replace(functions=(program.functions[0]._replace(**others),))  # pyright: ignore[reportArgumentType]


def _signed(program: Program, signature: Signature) -> Program:
    return program._replace(functions=(program.functions[0]._replace(signature=signature),))


_S = StateSpec("s", 0, None)


def _stateful(program: Program, *states: StateSpec, type: Type = I64, name: str = "main") -> Program:
    """A program whose function has states."""
    signed = _signed(program, Signature((type,), (I64,), (), states))
    function = signed.functions[0]._replace(name=name)
    return signed._replace(functions=(function,), constants=(Constant("", np.zeros((), np.int64)),))


def _typed(program: Program, type: Type) -> Program:
    return _signed(program, Signature((type,), (I64,)))


def flow(*lines: str) -> Program:
    return parsed(body(*lines))


def test_a_register_must_be_written_in_both_arms() -> None:
    both = ["vm.if r0, ^bb1, ^bb2", "^bb1:", "vm.move r1, r0", "vm.goto ^bb3", "^bb2:", "vm.move r1, r0"]
    rest = ["vm.goto ^bb3", "^bb3:", "vm.ret r1"]
    verify(flow(*both, *rest))
    assert "register r1" in refused(flow(*both[:-1], *rest))


def test_a_loop_may_write_what_it_reads_after_its_first_iteration() -> None:
    loop = ["vm.move r1, r0", "vm.goto ^bb1", "^bb1:", "vm.if r1, ^bb2, ^bb3", "^bb2:", "vm.move r2, r1"]
    verify(flow(*loop, "vm.goto ^bb1", "^bb3:", "vm.ret r1"))
    assert "register r2" in refused(flow(*loop, "vm.goto ^bb1", "^bb3:", "vm.ret r2"))
    killed = [*loop, "vm.kill r1", "vm.goto ^bb1", "^bb3:", "vm.ret r0"]
    assert "register r1" in refused(flow(*killed))


def test_a_killed_register_may_be_written_again() -> None:
    verify(flow("vm.kill r0", "vm.load_consti r0, 1", "vm.ret r0"))
    assert "register r0" in refused(flow("vm.kill r0", "vm.move r1, r0", "vm.ret r1"))


def test_blocks_that_nothing_reaches_are_left_alone() -> None:
    assert is_accepted(flow("vm.ret r0", "^bb1:", "vm.ret r1"))


def test_the_error_names_the_line() -> None:
    with pytest.raises(StepwellError) as caught:
        verify(flow("vm.move r1, r0", "vm.ret r2"))
    assert caught.value.where == "test.mlir:4:1: @f, instruction 1 (ret)"


@whole
def test_many_blocks_take_little_time() -> None:
    """20,000 diamonds in a row, with 60,000 registers: a visit a block."""
    code: list[Code] = []
    for first in range(0, 60_000, 3):
        code += [Code("if", (0, first + 1, first + 2)), *[Code("goto", (first + 3,))] * 2]
    assert is_accepted(program(*code, RET, registers=10_000))
