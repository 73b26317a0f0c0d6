"""
Integers that WGSL lacks: 8 and 16 bits are numbers of 32 bits in registers, 64 bits are pairs.

A number of 8 or 16 bits is extended by its sign, so that comparisons and most arithmetic are those of 32
bits, unsigned ones too; results that may leave the range are cut off. A pair has the lower half first, as
memory of the host has.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute, Operation

from stepwell.lowering.emit_source.language import width_of

PAIR = "vec2<u32>"
NARROW = (8, 16)
"""The bits of integers that are cut off."""
_EXACT = frozenset(
    (
        *("arith.andi", "arith.ori", "arith.xori", "arith.select", "arith.extsi", "arith.remsi"),
        *("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui", "arith.shrsi"),
    )
)
"""Ops whose results are in the range of their operands."""
_UNSIGNED: Mapping[str, str] = {
    "arith.divui": "i32((u32({0}) & {M}) / (u32({1}) & {M}))",
    "arith.remui": "i32((u32({0}) & {M}) % (u32({1}) & {M}))",
    "arith.shrui": "i32((u32({0}) & {M}) >> u32({1}))",
    "arith.extui": "i32(u32({0}) & {M})",
    "arith.index_castui": "i32(u32({0}) & {M})",
    "arith.uitofp": "{T}(u32({0}) & {M})",
    "math.ctpop": "i32(countOneBits(u32({0}) & {M}))",
}
"""Ops that read an integer of 8 or 16 bits without the bits of sign extension; `M` is the mask."""
_PAIRS: Mapping[str, str] = {
    "arith.addi": "sw_long_add({0}, {1})",
    "arith.subi": "sw_long_sub({0}, {1})",
    "arith.muli": "sw_long_mul({0}, {1})",
    "arith.divsi": "sw_long_div({0}, {1})",
    "arith.remsi": "sw_long_rem({0}, {1})",
    "arith.divui": "sw_ulong_divided({0}, {1}).xy",
    "arith.remui": "sw_ulong_divided({0}, {1}).zw",
    "arith.floordivsi": "sw_long_floordiv({0}, {1})",
    "arith.ceildivsi": "sw_long_ceildiv({0}, {1})",
    "arith.andi": "({0} & {1})",
    "arith.ori": "({0} | {1})",
    "arith.xori": "({0} ^ {1})",
    "arith.shli": "sw_long_shl({0}, {1}.x)",
    "arith.shrui": "sw_ulong_shr({0}, {1}.x)",
    "arith.shrsi": "sw_long_shr({0}, {1}.x)",
    "arith.minsi": "select({0}, {1}, sw_long_less({1}, {0}))",
    "arith.maxsi": "select({0}, {1}, sw_long_less({0}, {1}))",
    "arith.minui": "select({0}, {1}, sw_ulong_less({1}, {0}))",
    "arith.maxui": "select({0}, {1}, sw_ulong_less({0}, {1}))",
    "arith.select": "select({2}, {1}, {0})",
    "math.absi": "sw_long_abs({0})",
    "math.ctpop": "vec2<u32>(countOneBits({0}.x) + countOneBits({0}.y), 0u)",
}
"""Ops from pairs to a pair."""
_TO_PAIR: Mapping[str, str] = {
    "arith.extsi": "sw_long({0})",
    "arith.extui": "vec2<u32>(u32({0}), 0u)",
    "arith.index_cast": "sw_long({0})",
    "arith.index_castui": "vec2<u32>(u32({0}), 0u)",
    "arith.fptosi": "sw_long_of_float(f32({0}))",
    "arith.fptoui": "sw_ulong_of_float(f32({0}))",
}
_FROM_PAIR: Mapping[str, str] = {
    "arith.trunci": "i32({0}.x)",
    "arith.index_cast": "i32({0}.x)",
    "arith.index_castui": "i32({0}.x)",
    "arith.sitofp": "{T}(sw_float_of_long({0}))",
    "arith.uitofp": "{T}(sw_float_of_ulong({0}))",
}


def integer_template(op: Operation, plain: str | None) -> str | None:
    """
    The spelling of an op's result where an integer of 8, 16 or 64 bits is in it; None for an op without one.

    Args: `plain` is the spelling for integers of 32 bits, and that of all other ops.
    """
    given = width_of(op.operands[-1].type) if op.operands else None
    made = width_of(op.results[0].type) if len(op.results) == 1 else None
    if 64 in (given, made):
        return _of_pairs(op.name, given, made)
    if given is not None and op.name in ("arith.extsi", "arith.trunci") and given > 1 and made != 1:
        plain = "{0}"
    if given in NARROW and op.name in _UNSIGNED:
        plain = _masked(_UNSIGNED[op.name], given)
    if made in NARROW and op.name not in _EXACT and plain is not None:
        return cut_off(plain, made)
    return plain


def _of_pairs(name: str, given: int | None, made: int | None) -> str | None:
    """The spelling of an op on integers of 64 bits."""
    if given == made:
        return _PAIRS.get(name)
    if made == 64:
        if given == 1 and name == "arith.extsi":
            return "vec2<u32>(select(0u, 0xffffffffu, {0}))"
        if given in NARROW and name in ("arith.extui", "arith.index_castui"):
            return f"vec2<u32>({_masked('u32({0}) & {M}', given)}, 0u)"
        return _TO_PAIR.get(name)
    if made == 1:
        return "(({0}.x & 1u) == 1u)" if name == "arith.trunci" else None
    found = _FROM_PAIR.get(name)
    return cut_off(found, made) if found is not None and made in NARROW else found


def _masked(template: str, width: int | None) -> str:
    return template.replace("{M}", f"0x{(1 << (width or 0)) - 1:x}u")


def cut_off(text: str, width: int | None) -> str:
    """A number of 32 bits as one of 8 or 16, extended by its sign."""
    return f"sw_i{width}({text})"


def pair_comparison(predicate: str, a: str, b: str) -> str:
    """A comparison of pairs."""
    if predicate in ("eq", "ne"):
        return f"all({a} == {b})" if predicate == "eq" else f"any({a} != {b})"
    less = f"sw_{'u' if predicate[0] == 'u' else ''}long_less"
    return {
        "lt": f"{less}({a}, {b})",
        "gt": f"{less}({b}, {a})",
        "le": f"(!{less}({b}, {a}))",
        "ge": f"(!{less}({a}, {b}))",
    }[predicate[1:]]


def integer_literal(value: int, type: Attribute) -> str:
    """A constant, by its bits."""
    width = width_of(type) or 32
    bits = value & ((1 << width) - 1)
    if width == 64:
        return f"vec2<u32>({bits & 0xFFFFFFFF}u, {bits >> 32}u)"
    signed = bits - (1 << width) if bits >> (width - 1) else bits
    return f"{signed}" if signed >= 0 else f"i32({signed})"


HELPERS: Mapping[str, str] = {
    "sw_i8": """fn sw_i8(x: i32) -> i32 {
  return (x << 24u) >> 24u;
}""",
    "sw_i16": """fn sw_i16(x: i32) -> i32 {
  return (x << 16u) >> 16u;
}""",
    "sw_long": """fn sw_long(x: i32) -> vec2<u32> {
  return vec2<u32>(u32(x), u32(x >> 31u));
}""",
    "sw_long_add": """fn sw_long_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}""",
    "sw_long_sub": """fn sw_long_sub(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}""",
    "sw_long_neg": """fn sw_long_neg(a: vec2<u32>) -> vec2<u32> {
  return sw_long_sub(vec2<u32>(0u, 0u), a);
}""",
    "sw_long_abs": """fn sw_long_abs(a: vec2<u32>) -> vec2<u32> {
  return select(a, sw_long_neg(a), (a.y >> 31u) == 1u);
}""",
    "sw_long_mul": """fn sw_long_mul(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let a0 = a.x & 0xffffu;
  let a1 = a.x >> 16u;
  let b0 = b.x & 0xffffu;
  let b1 = b.x >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  let other = a0 * b1 + (middle & 0xffffu);
  let high = a1 * b1 + (middle >> 16u) + (other >> 16u);
  return vec2<u32>(a.x * b.x, high + a.x * b.y + a.y * b.x);
}""",
    "sw_ulong_less": """fn sw_ulong_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return select(a.y < b.y, a.x < b.x, a.y == b.y);
}""",
    "sw_long_less": """fn sw_long_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return select(i32(a.y) < i32(b.y), a.x < b.x, a.y == b.y);
}""",
    "sw_long_shl": """fn sw_long_shl(a: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) { return a; }
  if (n >= 64u) { return vec2<u32>(0u, 0u); }
  if (n >= 32u) { return vec2<u32>(0u, a.x << (n - 32u)); }
  return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}""",
    "sw_ulong_shr": """fn sw_ulong_shr(a: vec2<u32>, n: u32) -> vec2<u32> {
  if (n == 0u) { return a; }
  if (n >= 64u) { return vec2<u32>(0u, 0u); }
  if (n >= 32u) { return vec2<u32>(a.y >> (n - 32u), 0u); }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}""",
    "sw_long_shr": """fn sw_long_shr(a: vec2<u32>, n: u32) -> vec2<u32> {
  let sign = u32(i32(a.y) >> 31u);
  if (n == 0u) { return a; }
  if (n >= 64u) { return vec2<u32>(sign, sign); }
  if (n >= 32u) { return vec2<u32>(u32(i32(a.y) >> (n - 32u)), sign); }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), u32(i32(a.y) >> n));
}""",
    "sw_ulong_divided": """fn sw_ulong_divided(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  if (a.y == 0u && b.y == 0u && b.x != 0u) { return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u); }
  var quotient = vec2<u32>(0u, 0u);
  var rest = vec2<u32>(0u, 0u);
  for (var i = 64u; i > 0u; i = i - 1u) {
    let is_long = (rest.y >> 31u) == 1u;
    rest = sw_long_shl(rest, 1u) | vec2<u32>(sw_ulong_shr(a, i - 1u).x & 1u, 0u);
    quotient = sw_long_shl(quotient, 1u);
    if (is_long || !sw_ulong_less(rest, b)) {
      rest = sw_long_sub(rest, b);
      quotient = quotient | vec2<u32>(1u, 0u);
    }
  }
  return vec4<u32>(quotient, rest);
}""",
    "sw_long_div": """fn sw_long_div(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let quotient = sw_ulong_divided(sw_long_abs(a), sw_long_abs(b)).xy;
  return select(quotient, sw_long_neg(quotient), ((a.y ^ b.y) >> 31u) == 1u);
}""",
    "sw_long_rem": """fn sw_long_rem(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = sw_ulong_divided(sw_long_abs(a), sw_long_abs(b)).zw;
  return select(rest, sw_long_neg(rest), (a.y >> 31u) == 1u);
}""",
    "sw_long_floordiv": """fn sw_long_floordiv(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let is_between = any(sw_long_rem(a, b) != vec2<u32>(0u, 0u)) && ((a.y ^ b.y) >> 31u) == 1u;
  return sw_long_sub(sw_long_div(a, b), vec2<u32>(select(0u, 1u, is_between), 0u));
}""",
    "sw_long_ceildiv": """fn sw_long_ceildiv(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let is_between = any(sw_long_rem(a, b) != vec2<u32>(0u, 0u)) && ((a.y ^ b.y) >> 31u) == 0u;
  return sw_long_add(sw_long_div(a, b), vec2<u32>(select(0u, 1u, is_between), 0u));
}""",
    # The 32 bits from the first one on, the last of them set for any below: rounded once, as all 64 would be.
    "sw_float_of_ulong": """fn sw_float_of_ulong(a: vec2<u32>) -> f32 {
  if (a.y == 0u) { return f32(a.x); }
  let zeros = countLeadingZeros(a.y);
  let bits = sw_long_shl(a, zeros);
  return f32(bits.y | select(0u, 1u, bits.x != 0u)) * sw_pow2(i32(32u - zeros));
}""",
    "sw_float_of_long": """fn sw_float_of_long(a: vec2<u32>) -> f32 {
  let size = sw_float_of_ulong(sw_long_abs(a));
  return select(size, -size, (a.y >> 31u) == 1u);
}""",
    "sw_ulong_of_float": """fn sw_ulong_of_float(x: f32) -> vec2<u32> {
  let bits = bitcast<u32>(x);
  if (sw_isnan(x) || (bits >> 31u) == 1u || bits < 0x3f800000u) { return vec2<u32>(0u, 0u); }
  if (bits >= 0x5f800000u) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  let whole = vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u);
  let exponent = bits >> 23u;
  if (exponent < 150u) { return sw_ulong_shr(whole, 150u - exponent); }
  return sw_long_shl(whole, exponent - 150u);
}""",
    "sw_long_of_float": """fn sw_long_of_float(x: f32) -> vec2<u32> {
  if (x >= 9223372036854775808.0) { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
  if (x <= -9223372036854775808.0) { return vec2<u32>(0u, 0x80000000u); }
  let size = sw_ulong_of_float(abs(x));
  return select(size, sw_long_neg(size), x < 0.0);
}""",
}
"""Functions that the spellings call, callees first."""
