"""Programs of the machine from text, and packed functions of numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.dialects.vm.program import program_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.vm.machine import Machine
from stepwell.runtime.vm.program import Program

LIST = """
adt.data @List<"A"> {
  adt.constructor @Cons(!graph.var<"A">, !adt.data<@List, !graph.var<"A">>)
  adt.constructor @Nil()
}
"""
LENGTH = f"""{LIST}
vm.constant #0 = dense<0> : tensor<i64>
vm.constant #1 = dense<1> : tensor<i64>
func.func private @add(tensor<i64>, tensor<i64>) -> tensor<i64> attributes {{vm.segment}}
func.func private @less(tensor<i64>, tensor<i64>) -> tensor<i1> attributes {{vm.segment}}
vm.func @length (1) registers 4 : (!adt.data<@List, tensor<i64>>) -> tensor<i64>
attributes {{vm.names = ["l"]}} {{
  vm.get_tag r1, r0
  vm.switch r1, [^bb1, ^bb2]
^bb1:
  vm.get_field r2, r0 [1]
  vm.invoke r3, @length(r2)
  vm.load_const r2, #1
  vm.invoke_packed @add(r3, r2) -> (r1)
  vm.ret r1
^bb2:
  vm.load_const r1, #0
  vm.ret r1
}}
vm.func private @build (3) registers 6 {{
  vm.invoke_packed @less(r0, r1) -> (r3)
  vm.if r3, ^bb1, ^bb2
^bb1:
  vm.alloc_adt r2, @List::@Cons(r0, r2)
  vm.load_const r4, #1
  vm.invoke_packed @add(r0, r4) -> (r0)
  vm.tail_invoke @build(r0, r1, r2)
^bb2:
  vm.ret r2
}}
vm.func @main (1) registers 3 : (tensor<i64>) -> !adt.data<@List, tensor<i64>> {{
  vm.load_const r1, #0
  vm.alloc_adt r2, @List::@Nil()
  vm.tail_invoke @build(r1, r0, r2)
}}
"""
"""`@main` counts down from a number as a list, by tail calls; `@length` of a list recurses."""


def _on_scalars(function: np.ufunc) -> Callable[..., object]:
    """A function on arrays that returns arrays for scalars too, as compiled code does."""
    return lambda *arrays: np.asarray(function(*arrays))


PACKED: Mapping[str, Callable[..., object]] = {
    "add": _on_scalars(np.add),
    "less": _on_scalars(np.less),
    "subtract": _on_scalars(np.subtract),
}


def parsed(text: str) -> Program:
    """The program of a module's text, which is verified."""
    ctx = StepwellContext()
    module = parse_module(ctx, text, "test.mlir")
    verify_module(module)
    return program_of(module, ctx.weights)


def body(*lines: str, parameters: int = 1, registers: int = 4, head: str = "") -> str:
    """A module with one private function of some instructions, `@f`."""
    text = "\n".join(lines)
    return f"{head}\nvm.func private @f ({parameters}) registers {registers} {{\n{text}\n}}\n"


def run(text: str, *arguments: object) -> object:
    """The second result of the machine for `@f`, a private function of a module's text."""
    machine = Machine(parsed(text + _CALLER.format(*_counts(arguments))), PACKED)
    with suppress(StepwellError):
        machine.call("call_f", *arguments)
    return machine.call("call_f", *arguments)


_CALLER = """
vm.func @call_f ({0}) registers {0} : ({1}) -> tensor<f32> {{
  vm.tail_invoke @f({2})
}}
"""


def _counts(arguments: tuple[object, ...]) -> tuple[int, str, str]:
    count = len(arguments)
    return count, ", ".join(["tensor<f32>"] * count), ", ".join(f"r{n}" for n in range(count))
