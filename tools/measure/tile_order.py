"""The order of register tiles by speed on this machine, measured with a loop for each tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple, TypeAlias

from stepwell.dialects.tensor_ir.register_file import RegisterFile, measured_tiles
from stepwell.lowering.kernels.machine import compile_to_object, emit_assembly, vector_spills
from stepwell.lowering.loops_to_llvm import byte_dot, short_dot
from stepwell.runtime.machine.target import TargetDescription, TileShares
from stepwell.runtime.machine.tile_rates import ROW_BYTES, TileRates, tile_rates

_NO_DIFFERENCE = 0.02
_ELEMENT_BYTES = 4

ClassShares: TypeAlias = tuple[str, tuple[tuple[int, int, float], ...]]
"""A class of sums, and each tile with its share of the speed of the fastest."""


@dataclass(frozen=True)
class _Kind:
    """A kind of sums: the vector type, and the instruction that adds a product."""

    name: str
    vector: str
    scalar: str
    declaration: str
    add: Callable[[str, str, str, str], Sequence[str]]
    """Returns lines of LLVM IR, given the names of the new sum, the old sum and the two factors."""


class TileCode(NamedTuple):
    """Compiled loops of a kind of sums, one for each tile that fits; and the tiles that spill."""

    kind: str
    names: Mapping[tuple[int, int], str]
    objects: Sequence[bytes]
    spilling: Sequence[tuple[int, int]]


def measure_tiles(target: TargetDescription, deadline: float) -> TileShares:
    """
    The speeds of register tiles, by class of sums, the fastest first.

    Args: `deadline` by `perf_counter`: classes that are not begun by then are left out.
    """
    found: list[ClassShares] = []
    for code in tile_codes(target):
        if perf_counter() < deadline:
            found += class_shares(code, tile_rates(code.objects, code.names, deadline))
    return tuple(found)


def tile_codes(target: TargetDescription) -> Iterator[TileCode]:
    """The loops to measure for a target, by kind of sums."""
    registers = RegisterFile(target.vector_registers, target.lanes(_ELEMENT_BYTES), target.vector_bytes)
    for kind in _kinds(target):
        texts = {tile: _source(kind, *tile, target) for tile in measured_tiles(registers)}
        assembly = {tile: emit_assembly(text, target, optimize=False) for tile, text in texts.items()}
        spilling = [tile for tile, text in assembly.items() if vector_spills(text)]
        kept = [tile for tile in texts if tile not in spilling]
        objects = [compile_to_object(texts[tile], target, optimize=False) for tile in kept]
        yield TileCode(kind.name, {tile: _name(kind, *tile) for tile in kept}, objects, spilling)


def class_shares(code: TileCode, rates: TileRates) -> list[ClassShares]:
    """The speed of each tile as a share of the fastest one, by length of the sums."""
    found: list[ClassShares] = []
    for length, of_length in rates.items():
        best = max(of_length.values(), default=1.0)
        shares = [(m, v, _share(rate / best)) for (m, v), rate in of_length.items()]
        shares += [(m, v, 0.0) for m, v in code.spilling]
        found.append((f"{code.kind} {length}", tuple(sorted(shares, key=lambda row: (-row[2], row)))))
    return found


def _share(ratio: float) -> float:
    """The rounded ratio to the fastest tile; 1.0 for differences below the precision of the measurement."""
    return 1.0 if ratio > 1 - _NO_DIFFERENCE else round(ratio, 2)


def _kinds(target: TargetDescription) -> Sequence[_Kind]:
    lanes = target.lanes(_ELEMENT_BYTES)
    floats, words = f"<{lanes} x float>", f"<{lanes} x i32>"
    kinds: list[_Kind] = []
    if target.has_fma:
        fma = f"{floats} @llvm.fma.v{lanes}f32"

        def multiply_add(new: str, old: str, a: str, b: str) -> Sequence[str]:
            return [f"{new} = call {fma}({floats} {a}, {floats} {b}, {floats} {old})"]

        kinds.append(_Kind("f32", floats, "float", f"{fma}({floats}, {floats}, {floats})", multiply_add))
    if (name := byte_dot(target, lanes)) is not None:
        kinds.append(_integers("bytes", name, words, f"<{4 * lanes} x i8>", adds=True))
    elif (name := short_dot(target, lanes)) is not None:
        kinds.append(_integers("shorts", name, words, f"<{2 * lanes} x i16>", adds=False))
    return kinds


def _integers(kind: str, name: str, words: str, parts: str, *, adds: bool) -> _Kind:
    """
    The sums of an integer dot-product instruction. Args: `adds` when the instruction adds the old sum itself.
    """

    def lines(new: str, old: str, a: str, b: str) -> Sequence[str]:
        casts = [f"{new}.{c} = bitcast {words} {x} to {parts}" for c, x in (("a", a), ("b", b))]
        factors = f"{parts} {new}.a, {parts} {new}.b"
        if adds:
            return [*casts, f"{new} = call {words} @{name}({words} {old}, {factors})"]
        product = f"{new}.p = call {words} @{name}({factors})"
        return [*casts, product, f"{new} = add {words} {old}, {new}.p"]

    types = [words] * adds + [parts, parts]
    return _Kind(kind, words, "i32", f"{words} @{name}({', '.join(types)})", lines)


def _name(kind: _Kind, rows: int, vectors: int) -> str:
    return f"{kind.name}_{rows}x{vectors}"


def _source(kind: _Kind, rows: int, vectors: int, target: TargetDescription) -> str:
    """LLVM IR of a function (times, steps, rows, panel, results) that computes a tile `times` times."""
    sums = [(r, c) for r in range(rows) for c in range(vectors)]
    vector, bytes = kind.vector, target.vector_bytes
    # A step along K: the sums as phis, and the addresses of the panel's and the rows' elements.
    body = [f"%s{r}.{c} = phi {vector} [zeroinitializer, %again], [%t{r}.{c}, %loop]" for r, c in sums]
    body += [f"%at = mul i64 %i, {vectors * bytes}", "%here = getelementptr i8, ptr %panel, i64 %at"]
    body.append(f"%left = getelementptr {kind.scalar}, ptr %rows, i64 %i")
    # Loads of the panel's vectors.
    for c in range(vectors):
        body.append(f"%q{c} = getelementptr i8, ptr %here, i64 {c * bytes}")
        body.append(f"%b{c} = load {vector}, ptr %q{c}, align {bytes}")
    # For each row: the broadcast of its element, and a multiply-add to each sum.
    for r in range(rows):
        body += [
            f"%p{r} = getelementptr i8, ptr %left, i64 {r * ROW_BYTES}",
            f"%x{r} = load {kind.scalar}, ptr %p{r}, align 4",
            f"%y{r} = insertelement {vector} poison, {kind.scalar} %x{r}, i64 0",
            f"%a{r} = shufflevector {vector} %y{r}, {vector} poison, "
            f"<{target.lanes(_ELEMENT_BYTES)} x i32> zeroinitializer",
        ]
        for c in range(vectors):
            body += kind.add(f"%t{r}.{c}", f"%s{r}.{c}", f"%a{r}", f"%b{c}")
    # Stores of the sums after the last step.
    stores: list[str] = []
    for index, (r, c) in enumerate(sums):
        stores.append(f"%o{index} = getelementptr i8, ptr %out, i64 {index * bytes}")
        stores.append(f"store {vector} %t{r}.{c}, ptr %o{index}, align {bytes}")
    return f"""declare {kind.declaration}
define void @{_name(kind, rows, vectors)}(i64 %times, i64 %steps, ptr %rows, ptr %panel, ptr %out) {{
entry:
  br label %again
again:
  %k = phi i64 [0, %entry], [%l, %done]
  br label %loop
loop:
  %i = phi i64 [0, %again], [%j, %loop]
  {_lines(body)}
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %steps
  br i1 %more, label %loop, label %done
done:
  {_lines(stores)}
  %l = add i64 %k, 1
  %again.more = icmp slt i64 %l, %times
  br i1 %again.more, label %again, label %end
end:
  ret void
}}
"""


def _lines(lines: Sequence[str]) -> str:
    return "\n  ".join(lines)
