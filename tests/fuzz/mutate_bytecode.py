"""Case: bytecode with bytes changed, decoded, verified, printed and run within limits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.verify import verify_module
from stepwell.dialects.vm.program import module_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.values.program import ProgramModel
from stepwell.runtime.vm.bytecode import decode, encode
from stepwell.runtime.vm.instructions import ConstructorOf, Outputs
from stepwell.runtime.vm.machine import Machine
from stepwell.runtime.vm.program import Code, Program, Type
from tests.fuzz.mutate import bounded
from tests.support.vm import LENGTH, LIST, PACKED, parsed

SECONDS, BYTES = 2.0, 256 << 20
_LIMITS: dict[str, Any] = {"max_depth": 5_000, "max_memory": 16 << 20, "max_instructions": 10_000}
_OBJECTS = f"""{LIST}
vm.constant #0 = dense<[2, 2]> : tensor<2xi64>
vm.constant #1 = dense<1> : tensor<i64>
func.func private @add(tensor<i64>, tensor<i64>) -> tensor<i64> attributes {{vm.segment}}
func.func private @half(tensor<?xf32, #graph.dims<["2 * N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
  attributes {{vm.host}}
vm.func private @store (2) registers 3 {{
  vm.read_ref r2, r0
  vm.write_ref r0, r1
  vm.ret r2
}}
vm.func @main (2) registers 8
  : (tensor<4xf32>, tuple<tensor<i64>, tensor<i1>>) -> tuple<tensor<i64>, tensor<2x2xf32>, tensor<?xf32>>
  attributes {{vm.names = ["x", "pair"]}} {{
  vm.get_field r2, r1 [1]
  vm.if r2, ^bb1, ^bb2
^bb1:
  vm.get_field r3, r1 [0]
  vm.new_ref r4, r3
  vm.alloc_closure r5, @store(r4)
  vm.invoke_packed @add(r3, r3) -> (r6)
  vm.invoke_closure r7, r5(r6)
  vm.read_ref r7, r4
  vm.goto ^bb3
^bb2:
  vm.check r2, "shape-mismatch", "the flag must be set"
  vm.fatal "no-case", "no case fits"
^bb3:
  vm.load_consti r3, 64
  vm.alloc_storage r3, r3 align 64
  vm.alloc_tensor r4, r3 [16] : tensor<4xf32>
  vm.load_const r5, #0
  vm.reshape_tensor r5, r0, r5
  vm.shape_of r6, r0
  vm.alloc_tensor_reg r6, r3 [16], r6 : f32
  vm.kill r3
  vm.invoke_packed @half(r0) -> (r6)
  vm.move r4, r6
  vm.alloc_adt r2, tuple(r7, r5, r4)
  vm.ret r2
}}
"""


@cache
def _program(number: int) -> Program:
    return parsed((LENGTH, _OBJECTS)[number])


@cache
def _bytes(number: int) -> tuple[bytes, list[Array]]:
    weights: list[Array] = []
    return encode(_program(number), weights), weights


def check_bytecode(seed: int) -> tuple[str, str]:
    """Status and reason of bytecode with one to four changes: an error with a name, or a run."""
    rng = np.random.default_rng(seed)
    data, weights = _bytes(seed % 2)
    if seed % 4 < 2:
        data = encode(_with_other_operands(_program(seed % 2), rng), list(weights))
    else:
        for _ in range(int(rng.integers(1, 5))):
            data = _changed(data, rng)
    return bounded(lambda: _use(data, weights), SECONDS, BYTES)


def _with_other_operands(program: Program, rng: np.random.Generator) -> Program:
    """A program with other small numbers as operands, many of which the verifier lets pass."""
    functions = list(program.functions)
    for _ in range(int(rng.integers(1, 3))):
        number = int(rng.integers(len(functions)))
        code = list(functions[number].code)
        pc = int(rng.integers(len(code)))
        operands = list(code[pc].operands)
        at = int(rng.integers(len(operands))) if operands else 0
        operands[at] = _other(operands[at], rng)
        code[pc] = Code(code[pc].name, tuple(operands))
        functions[number] = functions[number]._replace(code=tuple(code))
    return program._replace(functions=tuple(functions))


def _other(operand: object, rng: np.random.Generator) -> object:
    match operand:
        case int():
            return int(rng.integers(9))
        case Outputs():
            return operand._replace(registers=_other(operand.registers, rng))
        case ConstructorOf():
            return ConstructorOf(int(rng.integers(-1, 2)), int(rng.integers(2)))
        case (first, *rest) if isinstance(first, int):
            return (*rest, int(rng.integers(8)))
        case _:
            return operand


def _changed(data: bytes, rng: np.random.Generator) -> bytes:
    at, length = int(rng.integers(len(data))), int(rng.integers(1, 4))
    match int(rng.integers(6)):
        case 0:
            return data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
        case 1:  # most numbers are small ones
            return data[:at] + bytes([int(rng.integers(10))]) + data[at + 1 :]
        case 2:
            return data[:at] + rng.bytes(length) + data[at + length :]
        case 3:
            return data[:at] + data[at + length :]
        case 4:
            return data[:at] + data[at : at + length] + data[at:]
        case _:
            rest = b"" if rng.random() < 0.2 else b"\xff" * length + data[at + length :]
            return data[:at] + rest or b"\0"


def _use(data: bytes, weights: list[Array]) -> tuple[str, str]:
    """Run the public functions of bytecode. Raises: StepwellError."""
    program = decode(data, weights)
    model = ProgramModel(
        Machine(program, {each.name: _packed(each.name) for each in program.packed}, **_LIMITS)
    )
    ctx = StepwellContext()
    try:
        text = module_of(program, ctx.weights)
        verify_module(text)
        str(text)
    except StepwellError as error:  # names that are none, in a text
        if error.code not in ("bad-bytecode", "invalid-ir", "bad-kind", "bad-shape", "too-large"):
            raise
    reasons: list[str] = []
    for function in program.public():
        signature = model.signature(function.name)
        try:
            model.run(function.name, *map(_value, signature.inputs))
        except StepwellError as error:
            reasons.append(error.code)
    return ("error", reasons[0]) if reasons else ("native", "")


def _packed(name: str) -> Any:
    return PACKED.get(name, lambda *arrays: arrays[0][: arrays[0].size // 2] if arrays else ())


def _value(type: Type) -> object:
    """A value of a type, or one that is near."""
    if type.kind == "tuple":
        return tuple(map(_value, type.parts))
    if type.kind == "data":
        return [np.asarray(n) for n in range(3)]
    if type.name == "bool":
        return True
    return np.arange(4, dtype=np.float32) if type.name == "float32" else 3
