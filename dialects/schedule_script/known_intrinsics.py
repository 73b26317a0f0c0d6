"""Intrinsics that every script may name: sums of four products of bytes, and small products by `fma`."""

from __future__ import annotations

import re
from functools import cache

from stepwell.dialects.schedule_script.intrinsic import IntrinsicOp, intrinsics_of

KNOWN = ("dot_bytes", "dot_bytes.LANES", "fma.LANES", "fma.ROWSxLANESxSTEPS")
"""The built-in intrinsics; LANES and the other words are numbers."""
MOST_ELEMENTS = 1024
"""The elements of an operand of a built-in intrinsic at most, whose code is written out."""
_DOT, _FMA = re.compile(r"dot_bytes(?:\.([0-9]+))?"), re.compile(r"fma\.(?:([0-9]+)x)?([0-9]+)(?:x([0-9]+))?")


@cache
def known_intrinsic(name: str) -> IntrinsicOp | None:
    """A built-in intrinsic; None if there is none of that name."""
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.dialects.parser import parse_module
    from stepwell.dialects.verify import verify_module

    if len(name) > 32 or (text := _text(name)) is None:
        return None
    module = parse_module(StepwellContext(), text, f"intrinsic {name}")
    verify_module(module)
    (found,) = intrinsics_of(module).values()
    return found


def _text(name: str) -> str | None:
    """The declaration of a built-in intrinsic as text."""
    if (match := _DOT.fullmatch(name)) is not None:
        lanes = int(match[1] or 1)
        if match[1] is None:
            return _declared(
                name, _maps("k", "k", ""), '"reduction"', _DOT_TYPES, _BYTES, _indented(_DOT_CODE)
            )
        return _dot_bytes(name, lanes) if 0 < lanes * 4 <= MOST_ELEMENTS else None
    if (match := _FMA.fullmatch(name)) is not None:
        rows, lanes, steps = (int(number or 1) for number in match.groups())
        largest = max(rows * lanes, rows * steps, lanes * steps)
        is_known = 0 < min(rows, lanes, steps) and largest <= MOST_ELEMENTS
        return _fma(name, rows, lanes, steps) if is_known else None
    return None


def _declared(name: str, maps: str, kinds: str, types: tuple[str, str, str], body: str, code: str) -> str:
    """The text of an intrinsic `c += a * b`."""
    a, b, c = types
    parameters = f"(%a: {a}, %b: {b}, %c: {c}) -> {c}"
    scalar = [type.rstrip(">").rpartition("x")[2].rpartition("<")[2] for type in types]
    return f"""
sched.intrinsic @"{name}" {{
  func.func @meaning{parameters} {{
    %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%a, %b : {a}, {b}) outs(%c : {c}) {{
    ^bb0(%x: {scalar[0]}, %y: {scalar[1]}, %z: {scalar[2]}):
{body}
    }} -> {c}
    func.return %r : {c}
  }}
  func.func @code{parameters} {{
{code}
  }}
}}
"""


_BYTES = """      %p = arith.extui %x : i8 to i32
      %q = arith.extsi %y : i8 to i32
      %m = arith.muli %p, %q : i32
      %s = arith.addi %z, %m : i32
      linalg.yield %s : i32"""
_FLOATS = """      %m = arith.mulf %x, %y : f32
      %s = arith.addf %z, %m : f32
      linalg.yield %s : f32"""
_ROW = "affine_map<(d0) -> (d0)>"
_WHOLE = f"{{in_bounds = [true], permutation_map = {_ROW}}}"
_DOT_TYPES = ("tensor<4xi8>", "tensor<4xi8>", "tensor<i32>")
_DOT_CODE = [
    "%o = arith.constant 0 : index",
    "%no = arith.constant 0 : i8",
    f"%va = vector.transfer_read %a[%o], %no {_WHOLE} : tensor<4xi8>, vector<4xi8>",
    f"%vb = vector.transfer_read %b[%o], %no {_WHOLE} : tensor<4xi8>, vector<4xi8>",
    "%pa = vector.bitcast %va : vector<4xi8> to vector<1xi32>",
    "%pb = vector.bitcast %vb : vector<4xi8> to vector<1xi32>",
    "%ea = vector.extract %pa[0] : i32 from vector<1xi32>",
    "%eb = vector.extract %pb[0] : i32 from vector<1xi32>",
    "%acc = tensor.extract %c[] : tensor<i32>",
    "%sum = arith.dot_bytes %ea, %eb, %acc : i32",
    "%r = tensor.insert %sum into %c[] : tensor<i32>",
    "func.return %r : tensor<i32>",
]


def _maps(a: str, b: str, c: str, loops: str = "k") -> str:
    """The maps of the operands, with the loops named."""
    return ", ".join(f"affine_map<({loops}) -> ({index})>" for index in (a, b, c))


def _dot_bytes(name: str, lanes: int) -> str:
    """`c[j] += a[k] * b[j, k]` for four k: unsigned bytes of a, signed ones of b."""
    vector = f"vector<{lanes}xi32>"
    lines = [
        "%o = arith.constant 0 : index",
        "%no = arith.constant 0 : i8",
        "%none = arith.constant 0 : i32",
        f"%w0 = arith.constant dense<0> : {vector}",
        f"%va = vector.transfer_read %a[%o], %no {{in_bounds = [true], permutation_map = {_ROW}}} "
        ": tensor<4xi8>, vector<4xi8>",
        "%pa = vector.bitcast %va : vector<4xi8> to vector<1xi32>",
        "%ea = vector.extract %pa[0] : i32 from vector<1xi32>",
        f"%all = vector.broadcast %ea : i32 to {vector}",
    ]
    row = "affine_map<(d0, d1) -> (d1)>"
    for lane in range(lanes):
        at = f"%l{lane}, %o"
        lines += [
            f"%l{lane} = arith.constant {lane} : index",
            f"%v{lane} = vector.transfer_read %b[{at}], %no {{in_bounds = [true], permutation_map = {row}}} "
            f": tensor<{lanes}x4xi8>, vector<4xi8>",
            f"%p{lane} = vector.bitcast %v{lane} : vector<4xi8> to vector<1xi32>",
            f"%e{lane} = vector.extract %p{lane}[0] : i32 from vector<1xi32>",
            f"%w{lane + 1} = vector.insert %e{lane}, %w{lane}[{lane}] : i32 into {vector}",
        ]
    lines += [
        f"%acc = vector.transfer_read %c[%o], %none {_WHOLE} : tensor<{lanes}xi32>, {vector}",
        f"%sum = arith.dot_bytes %all, %w{lanes}, %acc : {vector}",
        f"%r = vector.transfer_write %sum, %c[%o] {_WHOLE} : {vector}, tensor<{lanes}xi32>",
        f"func.return %r : tensor<{lanes}xi32>",
    ]
    types = ("tensor<4xi8>", f"tensor<{lanes}x4xi8>", f"tensor<{lanes}xi32>")
    return _declared(
        name, _maps("k", "j, k", "j", "j, k"), '"parallel", "reduction"', types, _BYTES, _indented(lines)
    )


def _fma(name: str, rows: int, lanes: int, steps: int) -> str:
    """`c[i, j] += a[i, k] * b[k, j]` in f32, in vectors along j, rounded once a step."""
    vector, row = f"vector<{lanes}xf32>", "affine_map<(d0, d1) -> (d1)>"
    read = f"{{in_bounds = [true], permutation_map = {row}}}"
    lines = ["%none = arith.constant 0.0 : f32"]
    lines += [f"%i{n} = arith.constant {n} : index" for n in range(max(rows, steps))]
    c, b = f"tensor<{rows}x{lanes}xf32>", f"tensor<{steps}x{lanes}xf32>"
    for i in range(rows):
        lines.append(f"%s{i}_0 = vector.transfer_read %c[%i{i}, %i0], %none {read} : {c}, {vector}")
    for k in range(steps):
        lines.append(f"%b{k} = vector.transfer_read %b[%i{k}, %i0], %none {read} : {b}, {vector}")
        for i in range(rows):
            lines += [
                f"%a{i}_{k} = tensor.extract %a[%i{i}, %i{k}] : tensor<{rows}x{steps}xf32>",
                f"%v{i}_{k} = vector.broadcast %a{i}_{k} : f32 to {vector}",
                f"%s{i}_{k + 1} = vector.fma %v{i}_{k}, %b{k}, %s{i}_{k} : {vector}",
            ]
    for i in range(rows):
        into = f"%c{i}" if i else "%c"
        lines.append(
            f"%c{i + 1} = vector.transfer_write %s{i}_{steps}, {into}[%i{i}, %i0] {read} : {vector}, {c}"
        )
    lines.append(f"func.return %c{rows} : {c}")
    types = (f"tensor<{rows}x{steps}xf32>", b, c)
    return _declared(
        name, _maps("i, k", "k, j", "i, j", "i, j, k"), '"parallel", "parallel", "reduction"', types, _FLOATS,
        _indented(lines),
    )  # fmt: skip


def _indented(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
