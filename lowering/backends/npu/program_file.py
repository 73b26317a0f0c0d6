"""Programs of the `npu` dialect as instructions with a table of micro-ops, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from stepwell.dialects import npu
from stepwell.dialects.npu.binary import ELEMENTS
from stepwell.dialects.npu.program import assigned
from stepwell.dialects.npu.tokens import TokensAttr, TokenType
from stepwell.dialects.types import int_attr
from stepwell.lowering.backends.npu.assign_tokens import assign_tokens
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.encoded import Encoded
from stepwell.runtime.npu.instructions import UOPS, Alu, Buffer, Finish, Gemm, Instruction, Load, Store, Uop

_MOST_UOPS_A_LOAD = 8191


def encoded(program: npu.ProgramOp) -> Encoded:
    """
    A program whose micro-ops are a table that the first instructions load.

    Raises: StepwellError `bad-npu-program` for more micro-ops than the buffer has, for a number that has no
    room in its field, and for arrays of other elements or of open sizes.
    """
    if not all(op.tokens is not None for op in program.instructions):
        program = program.clone()
        assign_tokens(program)
    starts: dict[tuple[Uop, ...], int] = {}
    table: list[Uop] = []
    body: list[Instruction] = []
    for op in program.instructions:
        made = op.instruction(assigned(op))
        if isinstance(op, npu.GemmOp | npu.AluOp) and isinstance(made, Gemm | Alu):
            uops = tuple(op.micro_ops())
            if (first := starts.get(uops)) is None:
                first = starts[uops] = len(table)
                table += uops
            made = replace(made, first=first, last=first + len(uops))
        body.append(made)
    if len(table) > (most := program.sizes().uop):
        raise StepwellError("bad-npu-program", program, f"{len(table)} micro-ops, and the buffer has {most}")
    loads = [
        Load(Buffer.UOP, start, UOPS, start, 1, count := min(_MOST_UOPS_A_LOAD, len(table) - start), count)
        for start in range(0, len(table), _MOST_UOPS_A_LOAD)
    ]
    arguments = tuple(map(_argument, program.body.block.args))
    return Encoded(program.sym_name.data, program.config.data, arguments, (*loads, *body), tuple(table))


def _argument(value: SSAValue) -> tuple[tuple[int, ...], str]:
    """The shape and the type of elements of an array. Raises: StepwellError `bad-npu-program`."""
    type = cast("MemRefType[Attribute]", value.type)
    shape, dtype = tuple(type.get_shape()), str(type.element_type)
    if dtype not in ELEMENTS or min(shape, default=1) < 1:
        message = f"arrays are of {' or '.join(ELEMENTS)} and of known sizes, found {type}"
        raise StepwellError("bad-npu-program", value.owner.parent_op(), message)
    return shape, dtype


def program_of(found: Encoded) -> npu.ProgramOp:
    """The op of an encoded program; tokens are attributes. Raises: StepwellError `bad-npu-program`."""
    types = [MemRefType(ELEMENTS[dtype], shape) for shape, dtype in found.arguments]
    block = Block(arg_types=types)
    for number, instruction in enumerate(found.instructions):
        if isinstance(instruction, Load) and instruction.buffer is Buffer.UOP:
            continue
        try:
            block.add_op(_op_of(instruction, list(block.args), found.uops))
        except IndexError:
            message = f"instruction {number} names an array or a micro-op that is not there"
            raise StepwellError("bad-npu-program", None, message) from None
    properties = {"sym_name": StringAttr(found.name), "config": StringAttr(found.config)}
    return npu.ProgramOp.create(properties=properties, regions=[Region(block)])


def _op_of(instruction: Instruction, arrays: Sequence[SSAValue], uops: Sequence[Uop]) -> npu.InstructionOp:
    properties: dict[str, Attribute] = {"tokens": TokensAttr.of(instruction.tokens)}
    operands: list[SSAValue] = []
    kind: type[npu.InstructionOp] = npu.FinishOp
    match instruction:
        case Load() | Store():
            operands = [arrays[instruction.array]]
            properties |= {name: int_attr(getattr(instruction, name)) for name in ("dram", "sram", "stride")}
            properties["size"] = _list(instruction.y, instruction.x)
            kind = npu.LoadOp if isinstance(instruction, Load) else npu.StoreOp
        case Gemm() | Alu():
            used = [uops[i] for i in range(instruction.first, instruction.last)]
            properties["uops"] = _list(*(n for uop in used for n in (uop.dst, uop.src, uop.wgt)))
            properties["loops"] = _list(instruction.outer, instruction.inner)
            wgt = instruction.wgt if isinstance(instruction, Gemm) else (0, 0)
            properties |= {"dst": _list(*instruction.dst), "src": _list(*instruction.src), "wgt": _list(*wgt)}
            kind = npu.GemmOp if isinstance(instruction, Gemm) else npu.AluOp
        case Finish():
            pass
    if isinstance(instruction, Load):
        properties["buffer"] = StringAttr(instruction.buffer.name.lower())
        if any(instruction.pad):
            properties |= {"pad": _list(*instruction.pad), "value": int_attr(instruction.value)}
    if isinstance(instruction, Alu):
        properties["kind"] = StringAttr(instruction.kind.name.lower())
        if instruction.immediate is not None:
            properties["immediate"] = int_attr(instruction.immediate)
    for name in ("unsigned", "reset"):
        if getattr(instruction, name, False):
            properties[name] = UnitAttr()
    return kind.create(operands=operands, result_types=[TokenType()], properties=properties)


def _list(*numbers: int) -> Attribute:
    return DenseArrayBase.from_list(i64, numbers)
