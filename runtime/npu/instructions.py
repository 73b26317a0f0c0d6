"""
The instructions of the accelerator, and their encoding in 16 bytes each.

Source: the instruction set of VTA (Moreau et al., 2018), with wider fields for buffers, a value for padding,
and `mulshift` for requantization.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar, TypeAlias

from stepwell.runtime.errors import StepwellError

INSTRUCTION_BYTES = 16
UOP_BYTES = 5
MOST_INSTRUCTIONS = 1 << 20
UOPS = 255
"""The number, among the arrays of a program, of its micro-ops."""


class Stage(IntEnum):
    """The part of the accelerator that executes an instruction."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2


class Buffer(IntEnum):
    """The buffer that a load fills."""

    UOP = 0
    INP = 1
    WGT = 2
    ACC = 3


class AluKind(IntEnum):
    """The operation of `Alu`."""

    MIN = 0
    MAX = 1
    ADD = 2
    SHR = 3
    MULSHIFT = 4


@dataclass(frozen=True)
class Tokens:
    """The tokens of an instruction: waited for, and given to the stages beside its own."""

    pop_prev: bool = False
    pop_next: bool = False
    push_prev: bool = False
    push_next: bool = False


@dataclass(frozen=True)
class Uop:
    """A micro-op: indices of elements of `acc` or `out`, of `inp` (of `acc` for `Alu`), and of `wgt`."""

    dst: int
    src: int
    wgt: int = 0

    WIDTHS: ClassVar = {"dst": 12, "src": 12, "wgt": 11}


@dataclass(frozen=True)
class Load:
    """A strided copy of `y` rows of `x` elements from array `array` to a buffer, with padding around it."""

    buffer: Buffer
    sram: int
    array: int
    dram: int
    y: int
    x: int
    stride: int
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Elements above, below, left and right."""
    value: int = 0
    """The value of each byte or sum of the padding."""
    tokens: Tokens = Tokens()

    @property
    def stage(self) -> Stage:
        """The stage: micro-ops and sums are loaded by the one that reads them."""
        return Stage.LOAD if self.buffer in (Buffer.INP, Buffer.WGT) else Stage.COMPUTE

    @property
    def elements(self) -> int:
        """The number of elements that are written, padding included."""
        top, bottom, left, right = self.pad
        return (self.y + top + bottom) * (self.x + left + right)


@dataclass(frozen=True)
class Store:
    """A strided copy of `y` rows of `x` sums, clipped to bytes, to an array."""

    sram: int
    array: int
    dram: int
    y: int
    x: int
    stride: int
    unsigned: bool = False
    tokens: Tokens = Tokens()
    stage: ClassVar = Stage.STORE


@dataclass(frozen=True)
class Gemm:
    """`acc[dst] += inp[src] x wgt[w] transposed` for each outer and inner iteration and each micro-op."""

    first: int
    """The first micro-op."""
    last: int
    """The one after the last."""
    outer: int
    inner: int
    dst: tuple[int, int]
    """What an outer and an inner iteration add to the index."""
    src: tuple[int, int]
    wgt: tuple[int, int]
    reset: bool = False
    """Whether sums are set to 0 in place of adding to them."""
    tokens: Tokens = Tokens()
    stage: ClassVar = Stage.COMPUTE


@dataclass(frozen=True)
class Alu:
    """`acc[dst] = acc[dst] OP acc[src]`, or OP a number, elementwise, in the order of `Gemm`."""

    kind: AluKind
    first: int
    last: int
    outer: int
    inner: int
    dst: tuple[int, int]
    src: tuple[int, int]
    immediate: int | None = None
    tokens: Tokens = Tokens()
    stage: ClassVar = Stage.COMPUTE


@dataclass(frozen=True)
class Finish:
    """The end: all instructions before have ended."""

    tokens: Tokens = Tokens()
    stage: ClassVar = Stage.COMPUTE


Instruction: TypeAlias = Load | Store | Gemm | Alu | Finish
_CODES: tuple[type[Instruction], ...] = (Load, Store, Gemm, Alu, Finish)
# The bits of each field in their order; a negative number is a signed field, a tuple field has its parts.
_LAYOUTS: dict[type[Instruction], tuple[tuple[str, int], ...]] = {
    Load: (
        ("buffer", 2), ("sram", 13), ("array", 8), ("dram", 24), ("y", 13), ("x", 13), ("stride", 16),
        ("pad", 4), ("pad", 4), ("pad", 4), ("pad", 4), ("value", -8),
    ),
    Store: (
        ("sram", 13), ("array", 8), ("dram", 24), ("y", 13), ("x", 13), ("stride", 16), ("unsigned", 1),
    ),
    Gemm: (
        ("first", 13), ("last", 14), ("outer", 12), ("inner", 12), ("dst", 11), ("dst", 11), ("src", 11),
        ("src", 11), ("wgt", 10), ("wgt", 10), ("reset", 1),
    ),
    Alu: (
        ("kind", 3), ("first", 13), ("last", 14), ("outer", 12), ("inner", 12), ("dst", 11), ("dst", 11),
        ("src", 11), ("src", 11), ("has_immediate", 1), ("immediate", -16),
    ),
    Finish: (),
}  # fmt: skip
_TOKEN_NAMES = [field.name for field in fields(Tokens)]


def encode(instructions: Sequence[Instruction]) -> bytes:
    """
    Instructions as bytes, 16 each: a code of 3 bits, the tokens, the fields from the lowest bit on.

    Raises: StepwellError `bad-npu-program` for a field that does not fit.
    """
    return b"".join(
        _encoded(instruction).to_bytes(INSTRUCTION_BYTES, "little") for instruction in instructions
    )


def _encoded(instruction: Instruction) -> int:
    code, place = _CODES.index(type(instruction)), 3
    for name in _TOKEN_NAMES:
        code |= int(getattr(instruction.tokens, name)) << place
        place += 1
    for (name, bits), value in zip(_LAYOUTS[type(instruction)], _values(instruction), strict=True):
        width = abs(bits)
        low, high = (-(1 << width - 1), 1 << width - 1) if bits < 0 else (0, 1 << width)
        if not low <= value < high:
            what = type(instruction).__name__.lower()
            raise StepwellError(
                "bad-npu-program", None, f"{name} of {what} is {low} to {high - 1}, found {value}"
            )
        code |= (value & (1 << width) - 1) << place
        place += width
    return code


def _values(instruction: Instruction) -> Iterator[int]:
    """The numbers of an instruction in the order of its layout."""
    seen: dict[str, int] = {}
    for name, _ in _LAYOUTS[type(instruction)]:
        if name == "has_immediate":
            yield int(isinstance(instruction, Alu) and instruction.immediate is not None)
            continue
        value = getattr(instruction, name)
        if isinstance(value, tuple):
            position = seen[name] = seen.get(name, -1) + 1
            yield int(value[position])  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield int(value or 0)


def decode(data: bytes) -> list[Instruction]:
    """
    The instructions of bytes: `decode(encode(p)) == p`.

    Raises: StepwellError `bad-npu-program` for a cut instruction, an unknown code, bits that nothing says, or
    more than 2^20 instructions.
    """
    if len(data) % INSTRUCTION_BYTES or len(data) > MOST_INSTRUCTIONS * INSTRUCTION_BYTES:
        raise StepwellError(
            "bad-npu-program",
            None,
            f"instructions have {INSTRUCTION_BYTES} bytes each, found {len(data)} bytes",
        )
    return [
        _decoded(int.from_bytes(data[start : start + INSTRUCTION_BYTES], "little"), start)
        for start in range(0, len(data), INSTRUCTION_BYTES)
    ]


def _decoded(code: int, start: int) -> Instruction:
    number, rest = code & 7, code >> 3
    if number >= len(_CODES):
        raise StepwellError("bad-npu-program", None, f"byte {start}: there is no instruction {number}")
    kind = _CODES[number]
    flags = {name: bool(rest >> place & 1) for place, name in enumerate(_TOKEN_NAMES)}
    rest >>= len(_TOKEN_NAMES)
    found: dict[str, list[int]] = {}
    for name, bits in _LAYOUTS[kind]:
        width = abs(bits)
        value, rest = rest & (1 << width) - 1, rest >> width
        found.setdefault(name, []).append(value - (1 << width) if bits < 0 and value >> width - 1 else value)
    if rest:
        raise StepwellError("bad-npu-program", None, f"byte {start}: bits after the fields are not 0")
    has_immediate = found.pop("has_immediate", [1])[0]
    values: dict[str, object] = {n: v[0] if len(v) == 1 else tuple(v) for n, v in found.items()}
    try:
        return _made(kind, values, bool(has_immediate), Tokens(**flags))
    except ValueError:
        raise StepwellError(
            "bad-npu-program", None, f"byte {start}: {kind.__name__.lower()} of an unknown kind"
        ) from None


def _made(
    kind: type[Instruction], values: dict[str, object], has_immediate: bool, tokens: Tokens
) -> Instruction:
    for name, convert in (("buffer", Buffer), ("kind", AluKind), ("unsigned", bool), ("reset", bool)):
        if name in values:
            values[name] = convert(values[name])  # type: ignore[arg-type]
    if kind is Alu and not has_immediate:
        if values["immediate"]:
            raise ValueError
        values["immediate"] = None
    return kind(**values, tokens=tokens)  # type: ignore[arg-type]


def encode_uops(uops: Sequence[Uop]) -> bytes:
    """Micro-ops as bytes, `UOP_BYTES` each: three indices. Raises: StepwellError `bad-npu-program`."""
    found = bytearray()
    for uop in uops:
        code, place = 0, 0
        for name, width in Uop.WIDTHS.items():
            value = getattr(uop, name)
            if not 0 <= value < 1 << width:
                raise StepwellError(
                    "bad-npu-program", None, f"{name} of a micro-op is 0 to {(1 << width) - 1}, found {value}"
                )
            code |= value << place
            place += width
        found += code.to_bytes(UOP_BYTES, "little")
    return bytes(found)


def decode_uops(data: bytes) -> list[Uop]:
    """The micro-ops of bytes. Raises: StepwellError `bad-npu-program` for a cut one, or bits too many."""
    if len(data) % UOP_BYTES:
        raise StepwellError(
            "bad-npu-program", None, f"micro-ops have {UOP_BYTES} bytes each, found {len(data)} bytes"
        )
    found: list[Uop] = []
    for start in range(0, len(data), UOP_BYTES):
        code = int.from_bytes(data[start : start + UOP_BYTES], "little")
        if code >> sum(Uop.WIDTHS.values()):
            raise StepwellError(
                "bad-npu-program", None, f"micro-op {start // UOP_BYTES}: bits after the fields are not 0"
            )
        dst, src, wgt = code & 0xFFF, code >> 12 & 0xFFF, code >> 24
        found.append(Uop(dst, src, wgt))
    return found
