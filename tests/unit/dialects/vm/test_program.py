"""A module as a program and back: the same text, and from text with locations the same bytes."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import WeightAttr, element_of, tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.dialects.vm import ConstantOp
from stepwell.dialects.vm.instructions import OPS
from stepwell.dialects.vm.program import module_of, program_of
from stepwell.dialects.vm.value_types import ir_type, program_type
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.vm.bytecode import decode, encode
from stepwell.runtime.vm.instructions import FIELDS, INSTRUCTIONS
from tests.support.vm import LENGTH
from tests.unit.project.test_layers import ROOT

OPS_FILE = (ROOT / "tests/filecheck/vm/ops/instructions.mlir").read_text(encoding="utf-8")


def read(ctx: StepwellContext, text: str, name: str = "test.mlir") -> ModuleOp:
    module = parse_module(ctx, text, name)
    verify_module(module)
    return module


def with_locations(module: ModuleOp) -> str:
    out = StringIO()
    Printer(stream=out, print_debuginfo=True).print_op(module)
    return out.getvalue()


def without_bodies(text: str) -> str:
    """The file of all instructions, with its segment declared only."""
    before, rest = text.split("func.func private @length_0", 1)
    _, after = rest.split("}\n", 1)
    declared = "func.func private @length_0(tensor<i64>) -> tensor<i64> attributes {vm.segment}"
    return f"{before}{declared}\n{after}"


@pytest.mark.parametrize("text", [LENGTH, without_bodies(OPS_FILE)], ids=["list", "all instructions"])
def test_text_to_bytes_to_text(text: str) -> None:
    ctx = StepwellContext()
    module = read(ctx, text)
    data = encode(program_of(module, ctx.weights), [])
    again = module_of(decode(data), ctx.weights)
    verify_module(again)
    assert str(again) == str(module)
    assert encode(program_of(read(ctx, with_locations(again), "other.mlir"), ctx.weights), []) == data


def test_the_file_has_all_instructions() -> None:
    assert [name for name in OPS if f"vm.{name} " not in OPS_FILE] == []


def test_opcodes_and_names_of_operands_are_unique() -> None:
    opcodes = [row.opcode for row in INSTRUCTIONS.values()]
    assert len(set(opcodes)) == len(opcodes) and max(opcodes) < 128
    assert all(len({field.name for field in fields}) == len(fields) for fields in FIELDS.values())


def test_constants_that_are_weights_keep_their_names() -> None:
    ctx = StepwellContext()
    array: Array = np.arange(100, dtype=np.float32)
    attr = WeightAttr("w", ctx.weights.add(array), tensor_type(element_of(array.dtype), array.shape))
    module = ModuleOp([ConstantOp.of(0, attr)])
    weights: list[Array] = []
    data = encode(program_of(module, ctx.weights), weights)
    other = StepwellContext()
    again = module_of(decode(data, weights), other.weights)
    assert str(again) == str(module) and attr.hash.data in other.weights


def test_fused_and_named_locations() -> None:
    text = (
        'vm.func private @f (1) registers 1 {\n  vm.move r0, r0 loc("conv1")\n'
        '  vm.move r0, r0 loc(fused["conv1", "a.mlir":3:4])\n  vm.ret r0 loc("relu"("a.mlir":3:4))\n}'
    )
    ctx = StepwellContext()
    (function,) = program_of(read(ctx, text), ctx.weights).functions
    assert [function.location(pc) for pc in range(3)] == [
        'node "conv1"',
        'node "conv1", a.mlir:3:4',
        'a.mlir:3:4: node "relu"',
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('tensor<?x4x?xbf16, #graph.dims<["N", 4, "?"]>>', "bf16[N, 4, ?]"),
        ("tuple<tensor<i1>, tuple<>>", "(bool[], ())"),
        ("((tensor<f32>) -> tensor<f32>) -> (tuple<>, tensor<ui8>)", "((f32[]) -> f32[]) -> ((), ui8[])"),
        ("!ref.cell<!adt.data<@List, tensor<4x!graph.var<\"E\">>>>", "cell of List(!E[4])"),
        ("!adt.data<@Vec, f32>", "Vec(f32)"),
    ],
)  # fmt: skip
def test_types(text: str, shown: str) -> None:
    ctx = StepwellContext()
    (op,) = read(ctx, f'"test.op"() {{type = {text}}} : () -> ()').body.ops
    type = program_type(op.attributes["type"])
    assert str(type) == shown and ir_type(type) == op.attributes["type"]


def test_types_that_no_register_contains() -> None:
    ctx = StepwellContext()
    text = "vm.func @f (1) registers 1 : (memref<4xf32>) -> tensor<f32> {\n  vm.ret r0\n}"
    with pytest.raises(StepwellError, match="no values of type memref<4xf32>"):
        program_of(read(ctx, text), ctx.weights)


def test_a_program_with_types_of_no_text() -> None:
    ctx = StepwellContext()
    program = program_of(read(ctx, LENGTH), ctx.weights)
    bad = program.packed[0]._replace(inputs=(program.packed[0].inputs[0]._replace(name="int63"),))
    with pytest.raises(StepwellError, match="the program has no text"):
        module_of(program._replace(packed=(bad,)), ctx.weights)
