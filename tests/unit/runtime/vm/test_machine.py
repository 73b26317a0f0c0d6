"""The machine: each instruction, kinds that do not fit, calls, depth, limits, backtraces."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.vm import linked
from stepwell.runtime.vm.machine import Machine
from stepwell.runtime.vm.objects import Cell, Closure, described
from tests.support.interrupts import interrupted_after
from tests.support.samples import whole
from tests.support.vm import LENGTH, LIST, PACKED, body, parsed, run

CONSTANTS = "vm.constant #0 = dense<0> : tensor<i64>\nvm.constant #1 = dense<1> : tensor<i64>"
SEGMENTS = "func.func private @add(tensor<i64>, tensor<i64>) -> tensor<i64> attributes {vm.segment}"
F32 = np.array([1, 2, 3, 4], np.float32)


@pytest.fixture(params=["steps", "functions"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs as steps for as long as a test takes, or as functions from their second time on."""
    monkeypatch.setattr(linked, "OFTEN", 1 if request.param == "functions" else 1 << 40)
    return request.param


def lines_of(text: str) -> list[str]:
    """Instructions and labels, separated by slashes."""
    return [part if part.startswith("^") else f"vm.{part}" for part in text.split(" / ")]


def scalar(value: object) -> Array:
    return np.asarray(value)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize(
    ("text", "argument", "expected"),
    [
        ('move r1, r0 / ret r1', scalar(3), 3),
        ('load_consti r1, -7 / ret r1', scalar(3), -7),
        ('load_const r1, #1 / ret r1', scalar(3), 1),
        ('alloc_adt r1, tuple(r0, r0, r0) / get_field r1, r1 [2] / ret r1', scalar(3), 3),
        ('alloc_adt r1, @List::@Nil() / get_tag r1, r1 / ret r1', scalar(3), 1),
        ('alloc_adt r1, tuple() / get_tag r1, r1 / ret r1', scalar(3), 0),
        ('new_ref r1, r0 / load_const r2, #1 / write_ref r1, r2 / read_ref r3, r1 / ret r3',
         scalar(3), 1),
        ('if r0, ^bb1, ^bb2 / ^bb1: / load_consti r1, 1 / ret r1 / ^bb2: / load_consti r1, 2 / ret r1',
         scalar(True), 1),
        ('if r0, ^bb1, ^bb2 / ^bb1: / load_consti r1, 1 / ret r1 / ^bb2: / load_consti r1, 2 / ret r1',
         scalar(False), 2),
        ('goto ^bb2 / ^bb1: / ret r0 / ^bb2: / load_consti r1, 2 / ret r1', scalar(0), 2),
        ('check r0, "run-time", "no" / ret r0', scalar(True), True),
        ('shape_of r1, r0 / ret r1', np.zeros((2, 5)), [2, 5]),
        ('device_copy r1, r0 device 0 / kill r0 / ret r1', scalar(3), 3),
        ('invoke_packed @add(r0, r0) -> (r1) / ret r1', scalar(3), 6),
    ],
)  # fmt: skip
def test_instruction(text: str, argument: Array, expected: object) -> None:
    found = run(body(*lines_of(text), head=LIST + CONSTANTS + "\n" + SEGMENTS), argument)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_memory_is_shared_by_the_tensors_in_it() -> None:
    text = body(
        "vm.load_consti r1, 64",
        "vm.alloc_storage r1, r1 align 64",
        "vm.alloc_tensor r2, r1 [16] : tensor<4xf32>",
        "vm.invoke_packed @same(r0) into (r2)",
        "vm.shape_of r3, r0",
        "vm.alloc_tensor_reg r3, r1 [16], r3 : f32",
        "vm.load_const r0, #0",
        "vm.reshape_tensor r3, r3, r0",
        "vm.ret r3",
        head="vm.constant #0 = dense<[2, 2]> : tensor<2xi64>\n"
        "func.func private @same(tensor<4xf32>) -> tensor<4xf32> attributes {vm.host}",
    )
    program = parsed(text + "vm.func @main (1) registers 1 : (tensor<4xf32>) -> tensor<2x2xf32> {"
                     "\nvm.tail_invoke @f(r0)\n}")  # fmt: skip
    found = Machine(program, {"same": lambda x: x}).call("main", F32)
    np.testing.assert_array_equal(found, F32.reshape(2, 2))


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize(
    ("text", "argument", "code", "message"),
    [
        ('get_field r1, r0 [0] / ret r1',
         scalar(3), "bad-bytecode", "expected data or a tuple, found the tensor i64[]"),
        ('alloc_adt r1, tuple(r0) / get_field r1, r1 [1] / ret r1',
         scalar(3), "bad-bytecode", "a tuple has 1 fields, and none of number 1"),
        ('get_tag r1, r0 / ret r1', scalar(3), "bad-bytecode", "expected data, found the tensor i64[]"),
        ('read_ref r1, r0 / ret r1', scalar(3), "bad-bytecode", "expected a cell, found"),
        ('write_ref r0, r0 / ret r0', scalar(3), "bad-bytecode", "expected a cell, found"),
        ('load_consti r1, 1 / switch r1, [^bb1] / ^bb1: / ret r0',
         scalar(3), "bad-bytecode", "expected a tag below 1, found the machine integer 1"),
        ('switch r0, [^bb1] / ^bb1: / ret r0',
         scalar(0), "bad-bytecode", "expected a tag below 1, found the tensor i64[]"),
        ('if r0, ^bb1, ^bb1 / ^bb1: / ret r0',
         scalar(1), "bad-bytecode", "expected a bool scalar, found the tensor i64[]"),
        ('if r0, ^bb1, ^bb1 / ^bb1: / ret r0',
         scalar([True]), "bad-bytecode", "expected a bool scalar, found the tensor bool[1]"),
        ('tail_invoke_closure r0()', scalar(1), "bad-bytecode", "expected a function value, found"),
        ('alloc_closure r1, @f() / tail_invoke_closure r1()',
         scalar(1), "bad-bytecode", "@f takes 1 arguments, found 0"),
        ('invoke_packed @add(r0, r0) -> (r1) / ret r1',
         F32, "bad-bytecode", "@add gets the tensor f32[4] where i64[] is declared"),
        ('alloc_adt r1, tuple() / invoke_packed @add(r1, r0) -> (r1) / ret r1',
         scalar(1), "bad-bytecode", "@add gets a tuple where i64[] is declared"),
        ('fatal "no-case", "no case fits Nil"', scalar(1), "no-case", "no case fits Nil"),
        ('check r0, "shape-mismatch", "N is not M" / ret r0',
         scalar(False), "shape-mismatch", "N is not M"),
        ('device_copy r1, r0 device 1 / ret r1', scalar(1), "unsupported", "there is no device 1"),
        ('alloc_storage r1, r0 align 64 / ret r1', scalar(-1), "bad-size", "-1 is no size"),
        ('alloc_storage r1, r0 align 4096 / ret r1', scalar(1), "bad-bytecode", "not to 4096"),
        ('alloc_storage r1, r0 align 64 / alloc_tensor r1, r1 [4] : tensor<4xf32> / ret r1',
         scalar(16), "bad-bytecode", "bytes 4 to 20 are no float32 tensor in 16 bytes"),
        ('alloc_tensor r1, r0 [0] : tensor<4xf32> / ret r1',
         scalar(16), "bad-bytecode", "expected storage, found"),
        ('shape_of r1, r0 / reshape_tensor r1, r1, r0 / ret r1',
         np.array([3]), "shape-mismatch", "cannot have the sizes [3]"),
    ],
)  # fmt: skip
def test_values_of_another_kind(text: str, argument: Array, code: str, message: str) -> None:
    with pytest.raises(StepwellError) as caught:
        run(body(*lines_of(text), head=SEGMENTS), argument)
    assert (caught.value.code, message in caught.value.message) == (code, True), caught.value
    assert "test.mlir:" in caught.value.where and "in @f, instruction" in caught.value.notes[0]


@pytest.mark.usefixtures("tier")
def test_errors_of_packed_functions() -> None:
    text = LENGTH.replace("vm.segment", "vm.host")

    def add(a: Array, b: Array) -> Array:
        raise OSError("the disk is full")

    for broken, code in (
        (add, "host-failed"),
        (lambda a, b: np.float32(1), "bad-bytecode"),
        (lambda a, b: (a, b), "bad-bytecode"),
    ):
        with pytest.raises(StepwellError) as caught:
            Machine(parsed(text), {**PACKED, "add": broken}).call("main", scalar(3))
        assert caught.value.code == code and "@add" in caught.value.message
    with pytest.raises(StepwellError, match="the program calls @add, which is not there"):
        Machine(parsed(text), {})


def test_sizes_are_bound_by_symbol_over_arguments_and_results() -> None:
    declared = (
        'func.func private @g(tensor<?xf32, #graph.dims<["N"]>>, tensor<?xf32, #graph.dims<["2 * N"]>>)'
    )
    text = body(
        "vm.invoke_packed @g(r0, r1) -> (r2)",
        "vm.ret r2",
        parameters=2,
        head=f'{declared} -> tensor<?xf32, #graph.dims<["N"]>> attributes {{vm.host}}',
    )
    caller = "vm.func @main (2) registers 2 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> {"
    caller += "\nvm.tail_invoke @f(r0, r1)\n}"
    three, six = np.zeros(3, np.float32), np.zeros(6, np.float32)
    assert Machine(parsed(text + caller), {"g": lambda a, b: a}).call("main", three, six) is three
    for a, b, result in ((three, three, three), (three, six, six)):
        with pytest.raises(StepwellError, match="where f32.* is declared"):
            Machine(parsed(text + caller), {"g": lambda a, b, result=result: result}).call("main", a, b)


@whole
def test_deep_recursion_over_a_long_list() -> None:
    """Of 100,000 here, and of ten times as many in the slow test."""
    deep(100_000)


@pytest.mark.slow
def test_ten_times_as_deep() -> None:
    deep(1_000_000)
    machine = Machine(parsed(COUNT_DOWN), PACKED)
    assert machine.call("main", scalar(10_000_000)) == 0


def deep(depth: int) -> None:
    machine = Machine(parsed(LENGTH), PACKED)
    made = machine.call("main", scalar(depth))
    assert machine.call("length", made) == depth
    assert described(made) == "Cons/2"
    del made  # freed without recursion


COUNT_DOWN = """
vm.constant #0 = dense<0> : tensor<i64>
vm.constant #1 = dense<1> : tensor<i64>
func.func private @less(tensor<i64>, tensor<i64>) -> tensor<i1> attributes {vm.segment}
func.func private @subtract(tensor<i64>, tensor<i64>) -> tensor<i64> attributes {vm.segment}
vm.func @main (1) registers 3 : (tensor<i64>) -> tensor<i64> {
  vm.load_const r1, #0
  vm.invoke_packed @less(r1, r0) -> (r2)
  vm.if r2, ^bb1, ^bb2
^bb1:
  vm.load_const r1, #1
  vm.invoke_packed @subtract(r0, r1) -> (r0)
  vm.tail_invoke @main(r0)
^bb2:
  vm.ret r0
}
"""


def test_tail_calls_take_no_frames() -> None:
    machine = Machine(parsed(COUNT_DOWN), PACKED, max_depth=1)
    assert machine.call("main", scalar(5_000)) == 0


@pytest.mark.usefixtures("tier")
def test_closures_call_with_their_captures_first() -> None:
    text = body(
        "vm.alloc_closure r1, @pair(r0)",
        "vm.load_consti r2, 7",
        "vm.invoke_closure r3, r1(r2)",
        "vm.alloc_closure r1, @first()",
        "vm.invoke r3, @apply(r1, r3)",
        "vm.ret r3",
        head="vm.func private @pair (2) registers 3 {\nvm.alloc_adt r2, tuple(r1, r0)\nvm.ret r2\n}\n"
        "vm.func private @first (1) registers 2 {\nvm.get_field r1, r0 [0]\nvm.ret r1\n}\n"
        "vm.func private @apply (2) registers 2 {\nvm.tail_invoke_closure r0(r1)\n}",
    )
    assert run(text, scalar(1)) == 7


@pytest.mark.usefixtures("tier")
def test_too_deep_names_the_calls_at_both_ends() -> None:
    machine = Machine(parsed(LENGTH), PACKED, max_depth=100)
    made = machine.call("main", scalar(100))
    assert machine.call("length", made) == 100
    with pytest.raises(StepwellError) as caught:
        machine.call("length", machine.call("main", scalar(200)))
    assert caught.value.code == "too-deep" and "max_depth = 100" in caught.value.message
    notes = caught.value.notes
    assert len(notes) == 11 and notes[5] == "… 91 more of @length"
    assert notes[0] == notes[-1] == "in @length, instruction 3 (invoke) at test.mlir:17:3"


def test_large_frames_are_refused_before_memory_is_full() -> None:
    text = body("vm.invoke r1, @f(r0)", "vm.ret r1", registers=60_000)
    with pytest.raises(StepwellError, match="registers") as caught:
        run(text, scalar(1))
    assert caught.value.code == "too-deep"


def test_memory_that_is_alive_is_bounded() -> None:
    machine = Machine(parsed(LENGTH), PACKED, max_memory=1 << 20)
    machine.call("main", scalar(2_000))
    with pytest.raises(StepwellError, match="max_memory = 1,048,576") as caught:
        machine.call("main", scalar(20_000))
    assert caught.value.code == "out-of-memory"
    # What is not kept does not count: each step makes an array of 8 bytes.
    assert Machine(parsed(COUNT_DOWN), PACKED, max_memory=1 << 14).call("main", scalar(5_000)) == 0


def test_cells_may_contain_each_other() -> None:
    """A cell in itself, alive while arrays are made and dropped, is counted once."""
    text = (
        "vm.new_ref r1, r0",
        "vm.write_ref r1, r1",
        "vm.goto ^bb1",
        "^bb1:",
        "vm.load_const r2, #0",
        "vm.invoke_packed @less(r2, r0) -> (r3)",
        "vm.if r3, ^bb2, ^bb3",
        "^bb2:",
        "vm.load_const r2, #1",
        "vm.invoke_packed @subtract(r0, r2) -> (r0)",
        "vm.goto ^bb1",
        "^bb3:",
        "vm.ret r0",
    )
    head = COUNT_DOWN.split("vm.func")[0]
    program = parsed(body(*text, head=head) + "vm.func @main (1) registers 1 : (tensor<i64>) -> tensor<i64> {"
                     "\nvm.tail_invoke @f(r0)\n}")  # fmt: skip
    assert Machine(program, PACKED, max_memory=1 << 13).call("main", scalar(1_000)) == 0


def test_instructions_are_bounded() -> None:
    machine = Machine(parsed(COUNT_DOWN), PACKED, max_instructions=100)
    assert machine.call("main", scalar(10)) == 0
    for _ in range(2):  # a call counts from 0
        with pytest.raises(StepwellError, match="max_instructions = 100"):
            machine.call("main", scalar(20))


def test_ctrl_c_ends_a_program_and_leaves_the_machine_usable() -> None:
    machine = Machine(parsed(COUNT_DOWN), PACKED)
    with pytest.raises(KeyboardInterrupt), interrupted_after(0.05):
        machine.call("main", scalar(1 << 60))
    assert machine.call("main", scalar(3)) == 0


def test_threads_own_their_frames() -> None:
    machine = Machine(parsed(LENGTH), PACKED, max_instructions=20_000)
    found: dict[int, int] = {}

    def call(size: int) -> None:
        found[size] = int(machine.call("length", machine.call("main", scalar(size))))

    threads = [threading.Thread(target=call, args=(size,)) for size in range(200, 208)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {size: size for size in range(200, 208)}


def test_functions_by_name() -> None:
    machine = Machine(parsed(LENGTH), PACKED)
    with pytest.raises(StepwellError, match="there is no public function @build") as caught:
        machine.call("build", 1, 2, 3)
    assert "did you mean" not in (caught.value.help or "") and "length, main" in (caught.value.help or "")
    with pytest.raises(StepwellError, match="takes 1 arguments, found 2"):
        machine.call("main", 1, 2)
    with pytest.raises(StepwellError, match="gets 0 arguments"):
        machine.call_closure(Closure(0, ()))


def test_values_in_short() -> None:
    assert described(Cell(1)) == "cell" and described(7) == "7"
    assert described(np.zeros((2, 3), np.uint8)) == "ui8[2, 3]"
