"""PTX text as entries: parameters, registers, memory, and basic blocks of instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stepwell.lowering.interpret.ptx.values import TYPES
from stepwell.runtime.errors import StepwellError

_IGNORED = (
    ".version",
    ".target",
    ".address_size",
    ".maxntid",
    ".minnctapersm",
    ".file",
    ".loc ",
    ".loc\t",
    ".section",
)
_ENTRY = re.compile(r"\.entry\s+(\S+?)\s*\(?\s*(\))?$")
_PARAMETER = re.compile(
    r"\.param\s+\.([a-z]+\d+)\s+(?:\.ptr\s+)?(?:\.[a-z]+\s+)?(?:\.align\s+\d+\s+)?(\S+?),?$"
)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(%?[\w$]+)(?:<(\d+)>)?$")
_MEMORY = re.compile(r"\.(shared|local)\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\]$")
_DYNAMIC = re.compile(r"\.extern\s+\.shared\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[\]$")
_TABLE = re.compile(r"\.global\s+\.align\s+\d+\s+\.b8\s+([\w$]+)\[(\d+)\]\s*=\s*\{([\d,\s]+)\}$")
_THREADS = re.compile(r"\.reqntid\s+(\d+), (\d+), (\d+)")
_LABEL = re.compile(r"([\w$]+):$")
_GUARD = re.compile(r"@(!?)(%?[\w$]+)\s+")
_OPERANDS = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{}\[\]]+")
_MOST_REGISTERS, _MOST_BYTES, _MOST_ALIGNMENT = 1 << 16, 1 << 24, 1 << 12
"""Bounds of what a text declares."""
_WIDTHS = {"pred": 0} | {f"{kind}{bits}": bits for kind in "bfsu" for bits in (8, 16, 32, 64)}


@dataclass(frozen=True, eq=False)
class Instruction:
    """An instruction with its place in the text."""

    line: int
    text: str
    parts: tuple[str, ...]
    """The name at its dots: `ld`, `global`, `b32`."""
    operands: tuple[str, ...]
    guard: str | None = None
    """The predicate that decides whether it runs."""
    is_negated: bool = False
    """Whether it runs where the predicate is false."""

    def __str__(self) -> str:
        return f"{'.'.join(self.parts)} at line {self.line}"

    def unsupported(self, why: str) -> StepwellError:
        """The error about an instruction that the interpreter does not know."""
        message = f"line {self.line}: {self.text}: {why}"
        help = "the interpreter knows what LLVM writes for kernels of Stepwell"
        return StepwellError("unsupported-ptx", None, message, help=help)


@dataclass
class Entry:
    """A kernel."""

    name: str
    line: int
    parameters: list[tuple[str, str]] = field(default_factory=list["tuple[str, str]"])
    """Names and types."""
    threads: tuple[int, ...] | None = None
    registers: dict[str, tuple[int, int]] = field(default_factory=dict[str, "tuple[int, int]"])
    """The number and the bits of each register; predicates have 0 bits."""
    addresses: dict[str, int] = field(default_factory=dict[str, int])
    """The first byte of each array, in the memory of the block or of the thread."""
    tables: dict[str, npt.NDArray[np.uint8]] = field(default_factory=dict[str, npt.NDArray[np.uint8]])
    """Constants in the device's memory."""
    shared_bytes: int = 0
    has_dynamic: bool = False
    """Whether the launch decides about memory of the block after `shared_bytes`."""
    local_bytes: int = 0
    blocks: list[list[Instruction]] = field(default_factory=list[list[Instruction]])
    labels: dict[str, int] = field(default_factory=dict[str, int])

    def add_memory(self, space: str, align: int, name: str, nbytes: int) -> None:
        """Place an array in the memory of the block or of the thread."""
        end = self.shared_bytes if space == "shared" else self.local_bytes
        self.addresses[name] = begin = -(-end // align) * align
        if space == "shared":
            self.shared_bytes = begin + nbytes
        else:
            self.local_bytes = begin + nbytes


def _add_dynamic(entries: Mapping[str, Entry], dynamic: Mapping[str, int]) -> None:
    """Place what launches pass after the memory that each entry declares; all names are the same memory."""
    for entry in entries.values():
        for name, align in dynamic.items():
            entry.add_memory("shared", align, name, 0)
        entry.has_dynamic = bool(dynamic)


def read_ptx(text: str) -> Mapping[str, Entry]:
    """
    The entries of PTX by name.

    Raises: StepwellError `unsupported-ptx`, with the line, for what LLVM does not write for our kernels.
    """
    entries: dict[str, Entry] = {}
    entry: Entry | None = None
    shared: list[tuple[str, int, str, int]] = []
    dynamic: dict[str, int] = {}
    tables: dict[str, npt.NDArray[np.uint8]] = {}
    for line, statement in _statements(text):
        if statement.startswith(_IGNORED) or statement in ("{", "}", ")"):
            if statement == "}" and entry is not None and entry.blocks[-1:] == [[]]:
                entry.blocks.pop()
            continue
        if found := _ENTRY.search(statement):
            entry = entries[found[1]] = Entry(found[1], line, blocks=[[]])
            for memory in shared:
                entry.add_memory(*memory)
            entry.tables = tables
            entry.addresses |= {name: table.ctypes.data for name, table in tables.items()}
        elif (found := _TABLE.match(statement)) is not None:
            tables[found[1]] = _table(line, statement, found)
        elif (found := _DYNAMIC.match(statement)) is not None:
            dynamic[found[2]] = int(found[1])
            if not 1 <= dynamic[found[2]] <= _MOST_ALIGNMENT:
                raise _unknown(line, statement)
        elif (found := _MEMORY.search(statement)) is not None:
            memory = found[1], int(found[2]), found[3], int(found[4])
            if not 1 <= memory[1] <= _MOST_ALIGNMENT or memory[3] > _MOST_BYTES:
                raise _unknown(line, statement)
            if entry is None:
                shared.append(memory)
            else:
                entry.add_memory(*memory)
        elif entry is None:
            raise _unknown(line, statement)
        else:
            _add(entry, line, statement)
    _add_dynamic(entries, dynamic)
    return entries


def _table(line: int, statement: str, found: re.Match[str]) -> npt.NDArray[np.uint8]:
    """The bytes of a constant. Raises: StepwellError `unsupported-ptx`."""
    numbers, size = [int(number) for number in found[3].split(",") if number.strip()], int(found[2])
    if max(numbers, default=0) > 255 or not len(numbers) <= size <= _MOST_BYTES:
        raise _unknown(line, statement)
    return np.array(numbers + [0] * (size - len(numbers)), np.uint8)


def _add(entry: Entry, line: int, statement: str) -> None:
    """Add a line inside of an entry. Raises: StepwellError `unsupported-ptx`."""
    if (found := _PARAMETER.match(statement)) is not None and found[1] in TYPES:
        entry.parameters.append((found[2], found[1]))
    elif (found := _THREADS.fullmatch(statement)) is not None:
        entry.threads = tuple(map(int, found.groups()))
    elif (found := _REGISTERS.match(statement)) is not None:
        _add_registers(entry, line, statement, found)
    elif (found := _LABEL.match(statement)) is not None:
        if entry.blocks[-1]:
            entry.blocks.append([])
        entry.labels[found[1]] = len(entry.blocks) - 1
    elif statement[0].isalpha() or statement[0] == "@":
        _add_instruction(entry, _instruction(line, statement))
    else:
        raise _unknown(line, statement)


def _add_registers(entry: Entry, line: int, statement: str, found: re.Match[str]) -> None:
    if found[1] not in _WIDTHS:
        raise _unknown(line, statement)
    count, bits = int(found[3] or 1), _WIDTHS[found[1]]
    if count > _MOST_REGISTERS:
        raise _unknown(line, statement)
    names = [found[2]] if found[3] is None else [f"{found[2]}{number}" for number in range(count)]
    for name in names:
        # Pieces of assembly between braces declare the same name again.
        if entry.registers.setdefault(name, (len(entry.registers), bits))[1] != bits:
            raise _unknown(line, statement)


def _add_instruction(entry: Entry, instruction: Instruction) -> None:
    """Append an instruction; what ends a block begins another one."""
    entry.blocks[-1].append(instruction)
    if instruction.parts[0] in ENDS:
        entry.blocks.append([])


ENDS = ("bra", "ret", "exit", "bar", "barrier", "trap")
"""Instructions after which a block ends: threads go elsewhere, or wait."""


def _instruction(line: int, statement: str) -> Instruction:
    guard, negated, rest = None, False, statement
    if (found := _GUARD.match(statement)) is not None:
        guard, negated, rest = found[2], bool(found[1]), statement[found.end() :]
    name, _, operands = rest.partition(" ") if " " in rest else rest.partition("\t")
    parts = tuple(name.strip().split("."))
    return Instruction(line, statement, parts, tuple(_OPERANDS.findall(operands)), guard, negated)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements with their lines, without comments; braces and labels are statements of their own."""
    begun, begun_at = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("//")[0].strip()
        if begun or code.startswith(_LONG):
            begun, begun_at = f"{begun} {code}".strip(), begun_at or number
            if not code.endswith(";"):
                continue
            code, number, begun, begun_at = begun, begun_at, "", 0
        for piece in code.split(";"):
            if statement := piece.strip():
                yield number, statement


_LONG = ("mma.",)
"""The beginnings of instructions that LLVM writes in several lines."""


def _unknown(line: int, statement: str) -> StepwellError:
    return StepwellError("unsupported-ptx", None, f"line {line}: {statement}: not known to the interpreter")


def stored_parameters(entry: Entry) -> set[str]:
    """The parameters that addresses of stores to the device's memory may be computed from."""
    sources: dict[str, set[str]] = {}
    addresses: set[str] = set()
    for instruction in (each for block in entry.blocks for each in block):
        if instruction.parts[0] == "st":
            addresses |= _names(instruction.operands[:1])
        elif instruction.operands and instruction.parts[0] != "cp":
            for name in _names(instruction.operands[:1]):
                sources.setdefault(name, set()).update(_names(instruction.operands[1:]))
    found, stack = set[str](), list(addresses)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(sources.get(name, ()))
    return {name for name, _ in entry.parameters if name in found}


def _names(operands: Sequence[str]) -> set[str]:
    """The registers and symbols in operands."""
    return {name for operand in operands for name in re.findall(r"%?[A-Za-z_$][\w$.]*", operand)}
