"""Programs of the accelerator as bytes, and back: a header of JSON, instructions, micro-ops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, StringAttr, UnitAttr, i8, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from stepwell.dialects import npu
from stepwell.dialects.npu.program import assigned
from stepwell.dialects.npu.tokens import TokensAttr, TokenType
from stepwell.dialects.types import int_attr
from stepwell.lowering.backends.npu.assign_tokens import assign_tokens
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import Config, config_of
from stepwell.runtime.npu.instructions import (
    INSTRUCTION_BYTES,
    UOP_BYTES,
    UOPS,
    Alu,
    Buffer,
    Finish,
    Gemm,
    Instruction,
    Load,
    Store,
    Uop,
    decode,
    decode_uops,
    encode,
    encode_uops,
)

MAGIC = b"NPU\x01"
_MOST_HEADER, _MOST_ARGUMENTS, _MOST_RANK = 1 << 16, 254, 16
_DTYPES = {"i8": i8, "i32": i32}
_MOST_UOPS_A_LOAD = 8191


@dataclass(frozen=True)
class Encoded:
    """A program as instructions, with the name, the configuration, and the types of the arrays."""

    name: str
    config: str
    arguments: tuple[tuple[tuple[int, ...], str], ...]
    instructions: tuple[Instruction, ...]
    uops: tuple[Uop, ...]

    def sizes(self) -> Config:
        """The configuration. Raises: StepwellError `bad-target`."""
        return config_of(self.config)

    def to_bytes(self) -> bytes:
        """The program as bytes. Raises: StepwellError `bad-npu-program` for a field that does not fit."""
        facts = {"name": self.name, "config": self.config, "arguments": self.arguments}
        header = json.dumps(facts, separators=(",", ":")).encode()
        counts = (len(header), len(self.instructions), len(self.uops))
        sizes = b"".join(count.to_bytes(4, "little") for count in counts)
        return b"".join([MAGIC, sizes, header, encode(self.instructions), encode_uops(self.uops)])

    @staticmethod
    def from_bytes(data: bytes) -> Encoded:
        """The program of bytes. Raises: StepwellError `bad-npu-program` for anything else."""
        sizes = [int.from_bytes(data[start : start + 4], "little") for start in (4, 8, 12)]
        header, instructions, uops = sizes
        place = 16 + header
        end = place + instructions * INSTRUCTION_BYTES
        if data[:4] != MAGIC or header > _MOST_HEADER or len(data) != end + uops * UOP_BYTES:
            raise StepwellError(
                "bad-npu-program", None, f"no program of an npu, or a cut one: {len(data)} bytes"
            )
        try:
            facts = cast("dict[str, Any]", json.loads(data[16:place]))
            arguments = tuple(
                (_shape(shape), _DTYPES[dtype].name and dtype) for shape, dtype in facts["arguments"]
            )
            name, config = facts["name"], facts["config"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise StepwellError("bad-npu-program", None, "the header of the program is wrong") from None
        if len(arguments) > _MOST_ARGUMENTS or not isinstance(name, str) or not isinstance(config, str):
            raise StepwellError("bad-npu-program", None, "the header of the program is wrong")
        return Encoded(
            name, config, arguments, tuple(decode(data[place:end])), tuple(decode_uops(data[end:]))
        )


def _shape(dims: Any) -> tuple[int, ...]:
    found = tuple(dims)
    if len(found) > _MOST_RANK or not all(type(dim) is int and 0 < dim < 1 << 31 for dim in found):
        raise ValueError
    return found


def encoded(program: npu.ProgramOp) -> Encoded:
    """
    A program whose micro-ops are a table that the first instructions load.

    Raises: StepwellError `bad-npu-program` for more micro-ops than the buffer has.
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
    arguments = tuple(
        (tuple(type.get_shape()), str(type.element_type))
        for type in cast("Sequence[MemRefType[Attribute]]", program.body.block.arg_types)
    )
    return Encoded(program.sym_name.data, program.config.data, arguments, (*loads, *body), tuple(table))


def program_of(found: Encoded) -> npu.ProgramOp:
    """The op of an encoded program; tokens are attributes. Raises: StepwellError `bad-npu-program`."""
    types = [MemRefType(_DTYPES[dtype], shape) for shape, dtype in found.arguments]
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
