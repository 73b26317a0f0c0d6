"""Native functions of a program: values, memory, calls, limits, errors with the calls around them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.lowering.vm_to_llvm.function import NativeFunction
from stepwell.lowering.vm_to_llvm.supported import SUPPORTED, native_problem
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.vm.native import NativeMachine
from stepwell.runtime.vm.program import Code, Function, Program
from tests.support.interrupts import interrupted_after

N = "tensor<i64>"
ADD = f"""
func.func private @add(%x: {N}, %y: {N}) -> {N} attributes {{vm.segment}} {{
  %z = graph.add %x, %y : ({N}, {N}) -> {N}
  func.return %z : {N}
}}
func.func private @is_zero(%x: {N}) -> tensor<i1> attributes {{vm.segment}} {{
  %zero = graph.constant dense<0> : {N}
  %z = graph.equal %x, %zero : ({N}, {N}) -> tensor<i1>
  func.return %z : tensor<i1>
}}
func.func private @twice(%x: tensor<?xi64, #graph.dims<["N"]>>) -> tensor<?xi64, #graph.dims<["2*N"]>> attributes {{vm.segment}} {{
  %z = graph.concat %x, %x axis 0 : (tensor<?xi64, #graph.dims<["N"]>>, tensor<?xi64, #graph.dims<["N"]>>) -> tensor<?xi64, #graph.dims<["2*N"]>>
  func.return %z : tensor<?xi64, #graph.dims<["2*N"]>>
}}
vm.constant #0 = dense<1> : {N}
vm.constant #1 = dense<-1> : {N}
adt.data @List<"A"> {{
  adt.constructor @Cons(!graph.var<"A">, !adt.data<@List, !graph.var<"A">>)
  adt.constructor @Nil()
}}
"""  # noqa: E501
LIST = f"!adt.data<@List, {N}>"
FIRST_OR_ONE = (
    "get_tag r1, r0 / switch r1, [^bb1, ^bb2] / ^bb1: / get_field r1, r0 [0] / ret r1"
    " / ^bb2: / load_const r1, #0 / ret r1"
)


def machine_of(text: str, tmp_path: Path, **limits: Any) -> Any:
    """The native executor of a module at the level `vm`."""
    file = tmp_path / "program.mlir"
    file.write_text(ADD + text)
    model: Any = stepwell.compile(file, executor="native", threads=1)
    assert isinstance(model.machine, NativeMachine)
    return model.with_limits(**limits) if limits else model


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("type", "lines", "inputs", "expected"),
    [
        (f"({N}) -> {N}", "move r1, r0 / ret r1", [3], 3),
        (f"({N}) -> {N}", "load_const r1, #0 / invoke_packed @add(r0, r1) -> (r1) / ret r1", [3], 4),
        (f"({N}) -> {N}", "alloc_adt r1, tuple(r0, r0) / get_field r1, r1 [1] / ret r1", [3], 3),
        (f"({N}) -> {LIST}", "alloc_adt r1, @List::@Nil() / alloc_adt r1, @List::@Cons(r0, r1) / ret r1",
         [3], [3]),
        # A register that has a tag, then a tensor.
        (f"({LIST}) -> {N}", FIRST_OR_ONE, [[7]], 7),
        (f"({LIST}) -> {N}", FIRST_OR_ONE, [[]], 1),
        (f"({N}) -> {N}", "new_ref r1, r0 / load_const r2, #0 / write_ref r1, r2 / read_ref r3, r1 / ret r3",
         [3], 1),
        # A cell in itself lives until the call ends.
        (f"({N}) -> {N}", "new_ref r1, r0 / write_ref r1, r1 / ret r0", [3], 3),
        (f"({N}) -> {N}", "load_consti r1, 1 / switch r1, [^bb1, ^bb2] / ^bb1: / fatal \"no-case\", \"no\""
         " / ^bb2: / kill r1 / ret r0", [3], 3),
        (f"(tensor<i1>, {N}) -> {N}", "if r0, ^bb1, ^bb2 / ^bb1: / ret r1 / ^bb2: / load_const r2, #0"
         " / ret r2", [False, 3], 1),
        # Written again in a loop that counts to zero: r0 is what is left, r2 the sum.
        (f"({N}) -> {N}", "load_const r1, #1 / move r2, r0 / goto ^bb1 / ^bb1: / invoke_packed @is_zero(r0)"
         " -> (r3) / if r3, ^bb2, ^bb3 / ^bb3: / invoke_packed @add(r0, r1) -> (r0) / invoke_packed"
         " @add(r2, r0) -> (r2) / goto ^bb1 / ^bb2: / ret r2", [1000], 500500),
        # Sizes that are open: the runtime prepares the segment for them.
        ('(tensor<?xi64, #graph.dims<["N"]>>) -> tensor<?xi64, #graph.dims<["2*N"]>>',
         "invoke_packed @twice(r0) -> (r1) / ret r1", [[1, 2]], [1, 2, 1, 2]),
        ('(tensor<?xi64, #graph.dims<["N"]>>) -> tensor<?xi64, #graph.dims<["2*N"]>>',
         "invoke_packed @twice(r0) -> (r1) / ret r1", [[]], []),
    ],
)  # fmt: skip
def test_instructions(type: str, lines: str, inputs: list[Any], expected: Any, tmp_path: Path) -> None:
    code = "\n".join(line if line.startswith("^") else f"vm.{line}" for line in lines.split(" / "))
    count = type.split("->")[0].count("tensor")
    model = machine_of(f"vm.func @main ({count}) registers 4 : {type} {{\n{code}\n}}", tmp_path)
    found = model(*[np.array(each) if not isinstance(each, list) or "?" not in type
                    else np.array(each, np.int64) for each in inputs]
                  if LIST not in type.split("->")[0] else inputs)  # fmt: skip
    np.testing.assert_array_equal(np.array(found), np.array(expected))


def _sum_of(count: int) -> str:
    """The sum of many parameters, of them and of a closure that has captured all but the last two."""
    registers = ", ".join(f"r{n}" for n in range(count))
    captured = ", ".join(f"r{n}" for n in range(count - 2))
    adds = "\n".join(f"vm.invoke_packed @add(r{count}, r{n}) -> (r{count})" for n in range(1, count))
    return f"""
vm.func private @sum ({count}) registers {count + 1} {{
  vm.move r{count}, r0
  {adds}
  vm.ret r{count}
}}
vm.func private @direct ({count}) registers {count + 1} {{
  vm.tail_invoke @sum({registers})
}}
vm.func @main ({count}) registers {count + 2} : ({", ".join([N] * count)}) -> {N} {{
  vm.invoke r{count}, @direct({registers})
  vm.alloc_closure r{count + 1}, @sum({captured})
  vm.invoke_closure r{count + 1}, r{count + 1}(r{count - 2}, r{count - 1})
  vm.invoke_packed @add(r{count}, r{count + 1}) -> (r{count})
  vm.ret r{count}
}}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("count", [2, 5, 6, 12])
def test_arguments_beyond_the_registers_of_a_call(count: int, tmp_path: Path) -> None:
    """Each argument is another power of two: a sum tells one that is lost or doubled."""
    values = [np.array(1 << n) for n in range(count)]
    assert machine_of(_sum_of(count), tmp_path)(*values) == 2 * ((1 << count) - 1)


DOWN = f"""
vm.func @main (1) registers 4 : ({N}) -> {N} {{
  vm.invoke_packed @is_zero(r0) -> (r1)
  vm.if r1, ^bb1, ^bb2
^bb1:
  vm.ret r0
^bb2:
  vm.load_const r1, #1
  vm.invoke_packed @add(r0, r1) -> (r2)
  vm.invoke r3, @main(r2)
  vm.load_const r1, #0
  vm.invoke_packed @add(r3, r1) -> (r3)
  vm.ret r3
}}
"""


ROW = 'tensor<?xi64, #graph.dims<["N"]>>'
JOIN = f"""
func.func private @join(%x: {ROW}, %y: {ROW}) -> tensor<?x2xi64, #graph.dims<["N + 1", 2]>> attributes {{vm.segment}} {{
  %one = graph.constant dense<1> : tensor<1xi64>
  %a = graph.concat %x, %one axis 0 : ({ROW}, tensor<1xi64>) -> tensor<?xi64, #graph.dims<["N + 1"]>>
  %b = graph.concat %y, %one axis 0 : ({ROW}, tensor<1xi64>) -> tensor<?xi64, #graph.dims<["N + 1"]>>
  %c = graph.expand_dims %a axes [1] : tensor<?xi64, #graph.dims<["N + 1"]>> -> tensor<?x1xi64, #graph.dims<["N + 1", 1]>>
  %d = graph.expand_dims %b axes [1] : tensor<?xi64, #graph.dims<["N + 1"]>> -> tensor<?x1xi64, #graph.dims<["N + 1", 1]>>
  %z = graph.concat %c, %d axis 1 : (tensor<?x1xi64, #graph.dims<["N + 1", 1]>>, tensor<?x1xi64, #graph.dims<["N + 1", 1]>>) -> tensor<?x2xi64, #graph.dims<["N + 1", 2]>>
  func.return %z : tensor<?x2xi64, #graph.dims<["N + 1", 2]>>
}}
vm.func @main (2) registers 3 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?x2xi64> {{
  vm.invoke_packed @join(r0, r1) -> (r2)
  vm.ret r2
}}
"""  # noqa: E501


def test_open_sizes_change_from_call_to_call(tmp_path: Path) -> None:
    """More sizes than the table of types keeps, so that it is emptied on the way."""
    model = machine_of(JOIN, tmp_path)
    for size in (3, 0, 700, 3, *range(4200), 3):
        x = np.arange(size)
        found = model(x, x + 5)
        assert found.shape == (size + 1, 2)
        assert found[-1].tolist() == [1, 1] and (found[:-1, 1] == x + 5).all() and (found[:-1, 0] == x).all()
    with pytest.raises(StepwellError, match=r"of N = 2") as raised:
        model(np.arange(2), np.arange(3))
    assert raised.value.code == "bad-bytecode"
    assert model(np.arange(1), np.arange(1)).tolist() == [[0, 0], [1, 1]]


def test_recursion_is_as_deep_as_its_limit(tmp_path: Path) -> None:
    model = machine_of(DOWN, tmp_path)
    for depth in (10, 30_000, 300_000):  # on the caller's stack, then on another
        assert model(np.array(depth)) == depth
    limited = model.with_limits(max_depth=1000)
    assert limited(np.array(1000)) == 1000
    with pytest.raises(StepwellError, match="calls nest 1,001 deep") as raised:
        limited(np.array(1001))
    assert raised.value.code == "too-deep"
    assert "991 more of @main" in str(raised.value)
    assert limited(np.array(7)) == 7


def test_calls_are_counted_once_where_a_call_runs_again(tmp_path: Path) -> None:
    """The first run ends at the fuel of short calls; the second one, on another stack, at the limit."""
    model = machine_of(DOWN, tmp_path, max_depth=25_000)
    for _ in range(2):
        with pytest.raises(StepwellError, match="calls nest 25,001 deep") as raised:
            model(np.array(30_000))
        assert "… 24,991 more of @main" in str(raised.value)


BUILD = f"""
vm.func private @build (2) registers 5 {{
  vm.invoke_packed @is_zero(r0) -> (r2)
  vm.if r2, ^bb1, ^bb2
^bb1:
  vm.ret r1
^bb2:
  vm.load_const r2, #1
  vm.invoke_packed @add(r0, r2) -> (r3)
  vm.alloc_adt r4, @List::@Cons(r0, r1)
  vm.tail_invoke @build(r3, r4)
}}
vm.func @main (1) registers 2 : ({N}) -> {LIST} {{
  vm.alloc_adt r1, @List::@Nil()
  vm.tail_invoke @build(r0, r1)
}}
vm.func @first (1) registers 2 : ({LIST}) -> {N} {{
  vm.get_field r1, r0 [0]
  vm.ret r1
}}
"""


def test_long_lists_come_and_go(tmp_path: Path) -> None:
    model = machine_of(BUILD, tmp_path)
    made = model(np.array(50_000))
    assert len(made) == 50_000 and made[0] == 1 and made[-1] == 50_000
    assert model.run("first", made) == 1


def test_memory_has_a_limit(tmp_path: Path) -> None:
    model = machine_of(BUILD, tmp_path, max_memory=1 << 20)
    assert len(model(np.array(100))) == 100
    with pytest.raises(StepwellError, match="max_memory = 1,048,576") as raised:
        model(np.array(50_000))
    assert raised.value.code == "out-of-memory"
    assert len(model(np.array(100))) == 100


NESTED = f"""
vm.func @main (1) registers 3 : ({N}) -> {N} {{
  vm.invoke_packed @is_zero(r0) -> (r1)
  vm.if r1, ^bb2, ^bb1
^bb1:
  vm.load_const r1, #1
  vm.invoke_packed @add(r0, r1) -> (r2)
  vm.invoke r2, @main(r2)
  vm.ret r2
^bb2:
  vm.ret r0
}}
"""


@pytest.mark.parametrize("most", [1 << 14, 1 << 22])
def test_frames_are_in_the_limit(tmp_path: Path, most: int) -> None:
    """Frames without objects of their own reach the limit, and memory is there for the next call."""
    model = machine_of(NESTED, tmp_path, max_memory=most)
    for _ in range(2):
        assert model(np.array(40)) == 0
        with pytest.raises(StepwellError, match=f"max_memory = {most:,} bytes") as raised:
            model(np.array(500_000))
        notes = list(raised.value.notes)
        assert raised.value.code == "out-of-memory" and "more of @main" in notes[5]
    assert model.with_limits(max_memory=1 << 30)(np.array(500_000)) == 0


def test_frames_and_objects_share_the_limit(tmp_path: Path) -> None:
    """A list that is made by 20,000 nested calls: 2 MB of frames and 2 MB of objects."""
    text = NESTED.replace("vm.load_const r1", "vm.alloc_adt r1, tuple(r0, r0)\n  vm.load_const r2").replace(
        "@add(r0, r1) -> (r2)\n  vm.invoke r2, @main(r2)",
        "@add(r0, r2) -> (r2)\n  vm.invoke r2, @main(r2)\n  vm.get_field r1, r1 [0]",
    )
    assert machine_of(text, tmp_path, max_memory=1 << 23)(np.array(20_000)) == 0
    with pytest.raises(StepwellError, match="max_memory = 3,000,000 bytes") as raised:
        machine_of(text, tmp_path, max_memory=3_000_000)(np.array(20_000))
    assert raised.value.code == "out-of-memory"


def test_what_dies_is_used_again(tmp_path: Path) -> None:
    """A hundred thousand lists of one element each, in the memory of a few."""
    text = f"""
vm.func @main (1) registers 5 : ({N}) -> {N} {{
  vm.load_const r1, #1
  vm.goto ^bb1
^bb1:
  vm.alloc_adt r2, @List::@Nil()
  vm.alloc_adt r2, @List::@Cons(r0, r2)
  vm.new_ref r3, r2
  vm.read_ref r4, r3
  vm.get_field r4, r4 [0]
  vm.invoke_packed @add(r4, r1) -> (r0)
  vm.invoke_packed @is_zero(r0) -> (r4)
  vm.if r4, ^bb2, ^bb1
^bb2:
  vm.ret r0
}}
"""
    assert machine_of(text, tmp_path, max_memory=1 << 17)(np.array(100_000)) == 0


def test_a_call_is_interrupted(tmp_path: Path) -> None:
    model = machine_of("vm.func @main (1) registers 1 : (tensor<i64>) -> tensor<i64> {\n"
                       "vm.tail_invoke @main(r0)\n}", tmp_path)  # fmt: skip
    for _ in range(2):  # the stack is free for the next one
        with pytest.raises(KeyboardInterrupt), interrupted_after(0.2):
            model(np.array(1))


def test_threads_have_calls_of_their_own(tmp_path: Path) -> None:
    model, found = machine_of(DOWN, tmp_path), list[int]()

    def run(depth: int) -> None:
        found.append(int(model(np.array(depth))))

    threads = [threading.Thread(target=run, args=(30_000 + n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [30_000 + n for n in range(6)]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("type", "lines", "input", "code", "message"),
    [
        (f"({N}) -> {N}", 'fatal "no-case", "none fits"', 3, "no-case", "none fits"),
        (f"({N}) -> {N}", "get_field r1, r0 [0] / ret r1", 3, "bad-bytecode", "the tensor i64"),
        (f"({N}) -> {N}", "alloc_adt r1, tuple(r0) / get_field r1, r1 [1] / ret r1", 3, "bad-bytecode",
         "a tuple of 1"),
        (f"({N}) -> {N}", "get_tag r1, r0 / switch r1, [^bb1] / ^bb1: / ret r0", 3, "bad-bytecode", "tensor"),
        (f"({N}) -> {N}", "load_consti r1, 1 / switch r1, [^bb1] / ^bb1: / ret r0", 3, "bad-bytecode",
         "a tag beyond"),
        (f"({N}) -> {N}", "if r0, ^bb1, ^bb1 / ^bb1: / ret r0", 3, "bad-bytecode", "the tensor i64"),
        (f"({N}) -> {N}", 'check r0, "run-time", "no" / ret r0', 3, "bad-bytecode", "the tensor i64"),
        (f"(tensor<i1>) -> {N}", 'check r0, "run-time", "N is not M" / ret r0', False, "run-time",
         "N is not M"),
        (f"({N}) -> {N}", "read_ref r1, r0 / ret r1", 3, "bad-bytecode", "the tensor i64"),
        (f"({N}) -> {N}", "invoke_closure r1, r0(r0) / ret r1", 3, "bad-bytecode", "the tensor i64"),
        (f"({N}) -> {N}", "alloc_closure r1, @main() / invoke_closure r1, r1(r0, r0) / ret r1", 3,
         "bad-bytecode", "another number of arguments"),
        (f"(tensor<i1>) -> {N}", "invoke_packed @add(r0, r0) -> (r1) / ret r1", True, "bad-bytecode",
         "the tensor bool"),
    ],
)  # fmt: skip
def test_wrong_values_are_errors(
    type: str, lines: str, input: Any, code: str, message: str, tmp_path: Path
) -> None:
    text = "\n".join(line if line.startswith("^") else f"vm.{line}" for line in lines.split(" / "))
    model = machine_of(f"vm.func @main (1) registers 2 : {type} {{\n{text}\n}}", tmp_path)
    with pytest.raises(StepwellError, match=message) as raised:
        model(np.array(input))
    assert raised.value.code == code
    assert "in @main, instruction" in str(raised.value)


@pytest.mark.parametrize(
    ("type", "lines", "message"),
    [
        (f"({N}) -> tensor<1xi64>", "shape_of r1, r0 / ret r1", "vm.shape_of"),
        (f"({N}) -> {N}", "get_tag r1, r0 / ret r1", "@main: vm.ret of a machine integer"),
        (f"(tensor<i1>) -> {N}", "if r0, ^bb1, ^bb2 / ^bb1: / load_consti r1, 1 / goto ^bb3 / ^bb2: /"
         " move r1, r0 / goto ^bb3 / ^bb3: / kill r1 / ret r0", "on some paths only"),
    ],
)  # fmt: skip
def test_what_has_no_native_code_runs_on_the_machine(
    type: str, lines: str, message: str, tmp_path: Path
) -> None:
    text = "\n".join(line if line.startswith("^") else f"vm.{line}" for line in lines.split(" / "))
    file = tmp_path / "program.mlir"
    file.write_text(f"vm.func @main (1) registers 2 : {type} {{\n{text}\n}}")
    with pytest.raises(StepwellError, match=message) as raised:
        stepwell.compile(file, executor="native")
    assert raised.value.code == "unsupported"
    model: Any = stepwell.compile(file)
    assert not isinstance(model.machine, NativeMachine)


def test_an_artifact_has_native_functions(tmp_path: Path) -> None:
    model = machine_of(DOWN, tmp_path)
    model.save(tmp_path / "down.stepwell")
    loaded: Any = stepwell.load(tmp_path / "down.stepwell")
    assert isinstance(loaded.machine, NativeMachine)
    assert loaded(np.array(40)) == 40
    assert list(loaded.segments) == ["add", "is_zero", "twice"]


def test_instructions_without_native_code_are_refused() -> None:
    """An instruction that is new on the machine alone is a reason, not a fault of the conversion."""
    assert NativeFunction.EMITTERS.keys() == SUPPORTED
    program = Program((), (), (), (Function("f", 1, 2, (Code("shape_of", (1, 0)), Code("ret", (1,)))),))
    assert str(native_problem(program)) == "@f: vm.shape_of"
