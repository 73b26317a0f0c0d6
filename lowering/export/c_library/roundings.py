"""Roundings and extrema of f32 and f64 for CPUs without an instruction, as LLVM IR."""

from __future__ import annotations

from string import Template

_TRUNC = Template("""
define weak hidden $type @trunc$f($type %x) #0 {
  %i = fptosi $type %x to $int
  %t = sitofp $int %i to $type
  %abs = call $type @llvm.fabs.$name($type %x)
  %small = fcmp olt $type %abs, $whole
  %r = select i1 %small, $type %t, $type %x
  %s = call $type @llvm.copysign.$name($type %r, $type %x)
  ret $type %s
}
define weak hidden $type @floor$f($type %x) #0 {
  %t = call $type @trunc$f($type %x)
  %above = fcmp ogt $type %t, %x
  %less = fsub $type %t, 1.0
  %r = select i1 %above, $type %less, $type %t
  ret $type %r
}
define weak hidden $type @ceil$f($type %x) #0 {
  %t = call $type @trunc$f($type %x)
  %below = fcmp olt $type %t, %x
  %more = fadd $type %t, 1.0
  %r = select i1 %below, $type %more, $type %t
  %s = call $type @llvm.copysign.$name($type %r, $type %x)
  ret $type %s
}
define weak hidden $type @round$f($type %x) #0 {
  %t = call $type @trunc$f($type %x)
  %rest = fsub $type %x, %t
  %size = call $type @llvm.fabs.$name($type %rest)
  %up = fcmp oge $type %size, 0.5
  %one = call $type @llvm.copysign.$name($type 1.0, $type %x)
  %away = fadd $type %t, %one
  %r = select i1 %up, $type %away, $type %t
  ret $type %r
}
""")
_EXTREMUM = Template("""
define weak hidden $type @$function($type %a, $type %b) #0 {
  %beyond = fcmp $compare $type %a, %b
  %none = fcmp uno $type %$nan, 0.0
  %first = or i1 %beyond, %none
  %r = select i1 %first, $type %a, $type %b
  ret $type %r
}
""")
_EXTREMA = (("fmax", "ogt", "b"), ("fmin", "olt", "b"), ("fmaximum", "ogt", "a"), ("fminimum", "olt", "a"))
"""Names, comparisons, and the operand for which NaN chooses the first: the other number, or NaN itself."""
# To even: 2^23 (2^52) is added and subtracted, and the sum has no room for a fraction.
_EVEN = Template("""
define weak hidden $type @$function($type %x) #0 {
  %magic = call $type @llvm.copysign.$name($type $whole, $type %x)
  %sum = fadd $type %x, %magic
  %t = fsub $type %sum, %magic
  %abs = call $type @llvm.fabs.$name($type %x)
  %small = fcmp olt $type %abs, $whole
  %r = select i1 %small, $type %t, $type %x
  %s = call $type @llvm.copysign.$name($type %r, $type %x)
  ret $type %s
}
""")
_EVEN_NAMES = ("rint", "nearbyint", "roundeven")
# From 2^23 and 2^52 on every number is an integer.
_PARTS = (
    {"f": "f", "type": "float", "name": "f32", "int": "i32", "whole": "0x4160000000000000"},
    {"f": "", "type": "double", "name": "f64", "int": "i64", "whole": "0x4330000000000000"},
)


def roundings_code() -> str:
    """The definitions; they have the attributes `#0`."""
    texts: list[str] = []
    for parts in _PARTS:
        texts.append(_TRUNC.substitute(parts))
        for name, compare, nan in _EXTREMA:
            function = f"{name}{parts['f']}"
            texts.append(_EXTREMUM.substitute(parts, function=function, compare=compare, nan=nan))
        texts += (_EVEN.substitute(parts, function=f"{name}{parts['f']}") for name in _EVEN_NAMES)
    return "".join(texts)
