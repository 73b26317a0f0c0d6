"""
Conversions between floats and i64, and of f64 and its comparisons, in integers, as LLVM IR.

The functions have the names and the calling convention of the ABI for 32-bit Arm: floats are integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

CONVERSIONS = """
define weak hidden i64 @__aeabi_f2d(i32 %a) #0 {
entry:
  %wide = zext i32 %a to i64
  %sign.low = and i64 %wide, 2147483648
  %sign = shl i64 %sign.low, 32
  %abs = and i64 %wide, 2147483647
  %special = icmp uge i64 %abs, 2139095040
  br i1 %special, label %infinite, label %finite
infinite:
  %nan = icmp ugt i64 %abs, 2139095040
  %signed = or i64 %sign, 9218868437227405312
  %s = select i1 %nan, i64 9221120237041090560, i64 %signed
  ret i64 %s
finite:
  %e.wide = lshr i64 %abs, 23
  %e.field = trunc i64 %e.wide to i32
  %fraction = and i64 %abs, 8388607
  %hidden = or i64 %fraction, 8388608
  %tiny = icmp eq i32 %e.field, 0
  %sig = select i1 %tiny, i64 %fraction, i64 %hidden
  %e.one = select i1 %tiny, i32 1, i32 %e.field
  %e = add i32 %e.one, 934
  %r = call i64 @soft_normal(i64 %sign, i32 %e, i64 %sig)
  ret i64 %r
}
define internal i32 @soft_round32(i64 %sign, i32 %exponent, i64 %x) #0 {
  %under = icmp slt i32 %exponent, 0
  %below = sub i32 0, %exponent
  %count = select i1 %under, i32 %below, i32 0
  %sig = call i64 @soft_shift(i64 %x, i32 %count)
  %e = select i1 %under, i32 0, i32 %exponent
  %up = add i64 %sig, 274877906944
  %short = lshr i64 %up, 39
  %bits = and i64 %sig, 549755813887
  %tie = icmp eq i64 %bits, 274877906944
  %odd = zext i1 %tie to i64
  %mask = xor i64 %odd, -1
  %even.wide = and i64 %short, %mask
  %even = trunc i64 %even.wide to i32
  %e.placed = shl i32 %e, 23
  %none = icmp eq i32 %even, 0
  %e.used = select i1 %none, i32 0, i32 %e.placed
  %number = add i32 %e.used, %even
  %over = icmp sgt i32 %exponent, 253
  %full = icmp uge i32 %number, 2139095040
  %large = or i1 %over, %full
  %finite = select i1 %large, i32 2139095040, i32 %number
  %sign.low = lshr i64 %sign, 32
  %sign.short = trunc i64 %sign.low to i32
  %r = or i32 %finite, %sign.short
  ret i32 %r
}
define internal i32 @soft_normal32(i64 %sign, i32 %exponent, i64 %x) #0 {
  %zeros.wide = call i64 @llvm.ctlz.i64(i64 %x, i1 false)
  %zeros = trunc i64 %zeros.wide to i32
  %shift = sub i32 %zeros, 1
  %right = icmp slt i32 %shift, 0
  %left = select i1 %right, i32 0, i32 %shift
  %left.wide = zext i32 %left to i64
  %moved = shl i64 %x, %left.wide
  %half = call i64 @soft_shift(i64 %x, i32 1)
  %sig = select i1 %right, i64 %half, i64 %moved
  %e = sub i32 %exponent, %shift
  %some = call i32 @soft_round32(i64 %sign, i32 %e, i64 %sig)
  %sign.low = lshr i64 %sign, 32
  %zero = trunc i64 %sign.low to i32
  %none = icmp eq i64 %x, 0
  %r = select i1 %none, i32 %zero, i32 %some
  ret i32 %r
}
define weak hidden i32 @__aeabi_d2f(i64 %a) #0 {
entry:
  %sign = and i64 %a, -9223372036854775808
  %abs = and i64 %a, 9223372036854775807
  %sign.low = lshr i64 %sign, 32
  %sign.short = trunc i64 %sign.low to i32
  %special = icmp uge i64 %abs, 9218868437227405312
  br i1 %special, label %infinite, label %finite
infinite:
  %nan = icmp ugt i64 %abs, 9218868437227405312
  %signed = or i32 %sign.short, 2139095040
  %s = select i1 %nan, i32 2143289344, i32 %signed
  ret i32 %s
finite:
  %zero = icmp eq i64 %abs, 0
  br i1 %zero, label %none, label %some
none:
  ret i32 %sign.short
some:
  %parts = call { i32, i64 } @soft_parts(i64 %abs)
  %e.wide = extractvalue { i32, i64 } %parts, 0
  %sig = extractvalue { i32, i64 } %parts, 1
  %e = sub i32 %e.wide, 887
  %r = call i32 @soft_normal32(i64 %sign, i32 %e, i64 %sig)
  ret i32 %r
}
define weak hidden i64 @__aeabi_d2ulz(i64 %a) #0 {
  %abs = and i64 %a, 9223372036854775807
  %field = lshr i64 %abs, 52
  %fraction = and i64 %abs, 4503599627370495
  %sig = or i64 %fraction, 4503599627370496
  %left = sub i64 %field, 1075
  %right = sub i64 1075, %field
  %up.count = and i64 %left, 63
  %down.count = and i64 %right, 63
  %up = shl i64 %sig, %up.count
  %down = lshr i64 %sig, %down.count
  %large = icmp uge i64 %field, 1075
  %some = select i1 %large, i64 %up, i64 %down
  %below = icmp ult i64 %field, 1023
  %r = select i1 %below, i64 0, i64 %some
  ret i64 %r
}
define weak hidden i64 @__aeabi_d2lz(i64 %a) #0 {
  %size = call i64 @__aeabi_d2ulz(i64 %a)
  %minus = sub i64 0, %size
  %negative = icmp slt i64 %a, 0
  %r = select i1 %negative, i64 %minus, i64 %size
  ret i64 %r
}
define weak hidden i32 @__aeabi_d2iz(i64 %a) #0 {
  %wide = call i64 @__aeabi_d2lz(i64 %a)
  %r = trunc i64 %wide to i32
  ret i32 %r
}
define weak hidden i32 @__aeabi_d2uiz(i64 %a) #0 {
  %wide = call i64 @__aeabi_d2ulz(i64 %a)
  %r = trunc i64 %wide to i32
  ret i32 %r
}
define weak hidden i64 @__aeabi_f2lz(i32 %a) #0 {
  %wide = call i64 @__aeabi_f2d(i32 %a)
  %r = call i64 @__aeabi_d2lz(i64 %wide)
  ret i64 %r
}
define weak hidden i64 @__aeabi_f2ulz(i32 %a) #0 {
  %wide = call i64 @__aeabi_f2d(i32 %a)
  %r = call i64 @__aeabi_d2ulz(i64 %wide)
  ret i64 %r
}
define weak hidden i64 @__aeabi_ul2d(i64 %x) #0 {
  %r = call i64 @soft_normal(i64 0, i32 1084, i64 %x)
  ret i64 %r
}
define weak hidden i64 @__aeabi_l2d(i64 %x) #0 {
  %sign = and i64 %x, -9223372036854775808
  %minus = sub i64 0, %x
  %negative = icmp slt i64 %x, 0
  %abs = select i1 %negative, i64 %minus, i64 %x
  %r = call i64 @soft_normal(i64 %sign, i32 1084, i64 %abs)
  ret i64 %r
}
define weak hidden i64 @__aeabi_i2d(i32 %x) #0 {
  %wide = sext i32 %x to i64
  %r = call i64 @__aeabi_l2d(i64 %wide)
  ret i64 %r
}
define weak hidden i64 @__aeabi_ui2d(i32 %x) #0 {
  %wide = zext i32 %x to i64
  %r = call i64 @__aeabi_ul2d(i64 %wide)
  ret i64 %r
}
define weak hidden i32 @__aeabi_ul2f(i64 %x) #0 {
  %r = call i32 @soft_normal32(i64 0, i32 188, i64 %x)
  ret i32 %r
}
define weak hidden i32 @__aeabi_l2f(i64 %x) #0 {
  %sign = and i64 %x, -9223372036854775808
  %minus = sub i64 0, %x
  %negative = icmp slt i64 %x, 0
  %abs = select i1 %negative, i64 %minus, i64 %x
  %r = call i32 @soft_normal32(i64 %sign, i32 188, i64 %abs)
  ret i32 %r
}
"""
# An order of the bits: negative numbers from the largest on, both zeros one.
_COMPARISONS = """
define internal i64 @soft_order(i64 %a) #0 {
  %abs = and i64 %a, 9223372036854775807
  %minus = sub i64 0, %abs
  %negative = icmp slt i64 %a, 0
  %r = select i1 %negative, i64 %minus, i64 %abs
  ret i64 %r
}
define weak hidden i32 @__aeabi_dcmpun(i64 %a, i64 %b) #0 {
  %abs.a = and i64 %a, 9223372036854775807
  %abs.b = and i64 %b, 9223372036854775807
  %nan.a = icmp ugt i64 %abs.a, 9218868437227405312
  %nan.b = icmp ugt i64 %abs.b, 9218868437227405312
  %nan = or i1 %nan.a, %nan.b
  %r = zext i1 %nan to i32
  ret i32 %r
}
"""
_COMPARISON = Template("""
define weak hidden i32 @__aeabi_dcmp$name(i64 %a, i64 %b) #0 {
  %x = call i64 @soft_order(i64 %a)
  %y = call i64 @soft_order(i64 %b)
  %holds = icmp $predicate i64 %x, %y
  %nan = call i32 @__aeabi_dcmpun(i64 %a, i64 %b)
  %real = icmp eq i32 %nan, 0
  %both = and i1 %holds, %real
  %r = zext i1 %both to i32
  ret i32 %r
}
""")
_PREDICATES: Mapping[str, str] = {"eq": "eq", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}


def comparisons_code() -> str:
    """The definitions of comparisons of f64."""
    comparisons = (_COMPARISON.substitute(name=n, predicate=p) for n, p in _PREDICATES.items())
    return _COMPARISONS + "".join(comparisons)
