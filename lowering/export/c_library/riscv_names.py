"""
The functions for i64 and f64 by the names that code for 32-bit RISC-V calls, as LLVM IR.

Each calls the one of 32-bit Arm, where floats are integers; here f32 is in a register of floats.
Source: the names of GCC's library for integers and floats (libgcc).
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

_PLAIN: Mapping[str, str] = {
    "__adddf3": "i64 __aeabi_dadd i64 i64",
    "__subdf3": "i64 __aeabi_dsub i64 i64",
    "__muldf3": "i64 __aeabi_dmul i64 i64",
    "__divdf3": "i64 __aeabi_ddiv i64 i64",
    "__fixdfsi": "i32 __aeabi_d2iz i64",
    "__fixunsdfsi": "i32 __aeabi_d2uiz i64",
    "__fixdfdi": "i64 __aeabi_d2lz i64",
    "__fixunsdfdi": "i64 __aeabi_d2ulz i64",
    "__floatsidf": "i64 __aeabi_i2d i32",
    "__floatunsidf": "i64 __aeabi_ui2d i32",
    "__floatdidf": "i64 __aeabi_l2d i64",
    "__floatundidf": "i64 __aeabi_ul2d i64",
    "__unorddf2": "i32 __aeabi_dcmpun i64 i64",
}
"""Result, function of Arm, and arguments, of the same types."""
_FROM_F32 = {"__extendsfdf2": "__aeabi_f2d", "__fixsfdi": "__aeabi_f2lz", "__fixunssfdi": "__aeabi_f2ulz"}
_TO_F32 = {"__truncdfsf2": "__aeabi_d2f", "__floatdisf": "__aeabi_l2f", "__floatundisf": "__aeabi_ul2f"}
_OF_PAIRS = {
    "__divdi3": ("__aeabi_ldivmod", 0),
    "__moddi3": ("__aeabi_ldivmod", 1),
    "__udivdi3": ("__aeabi_uldivmod", 0),
    "__umoddi3": ("__aeabi_uldivmod", 1),
}
_ORDERS = {"lt": 1, "le": 1, "gt": -1, "ge": -1}
"""The results of comparisons with NaN, which are the same as for a false comparison."""

_FROM_F32_CODE = Template("""
define weak hidden i64 @$name(float %a) #0 {
  %bits = bitcast float %a to i32
  %r = call i64 @$function(i32 %bits)
  ret i64 %r
}
""")
_TO_F32_CODE = Template("""
define weak hidden float @$name(i64 %a) #0 {
  %bits = call i32 @$function(i64 %a)
  %r = bitcast i32 %bits to float
  ret float %r
}
""")
_PAIR_CODE = Template("""
define weak hidden i64 @$name(i64 %a, i64 %b) #0 {
  %pair = call { i64, i64 } @$function(i64 %a, i64 %b)
  %r = extractvalue { i64, i64 } %pair, $index
  ret i64 %r
}
""")
_EQUAL_CODE = Template("""
define weak hidden i32 @__${name}df2(i64 %a, i64 %b) #0 {
  %same = call i32 @__aeabi_dcmpeq(i64 %a, i64 %b)
  %r = xor i32 %same, 1
  ret i32 %r
}
""")
_ORDER_CODE = Template("""
define weak hidden i32 @__${name}df2(i64 %a, i64 %b) #0 {
  %none = call i32 @__aeabi_dcmpun(i64 %a, i64 %b)
  %no.number = icmp ne i32 %none, 0
  %less = call i32 @__aeabi_dcmplt(i64 %a, i64 %b)
  %greater = call i32 @__aeabi_dcmpgt(i64 %a, i64 %b)
  %order = sub i32 %greater, %less
  %r = select i1 %no.number, i32 $unordered, i32 %order
  ret i32 %r
}
""")


def riscv_names_code() -> str:
    """The definitions."""
    parts = [_plain(name, *text.split()) for name, text in _PLAIN.items()]
    parts += [_FROM_F32_CODE.substitute(name=n, function=f) for n, f in _FROM_F32.items()]
    parts += [_TO_F32_CODE.substitute(name=n, function=f) for n, f in _TO_F32.items()]
    parts += [_PAIR_CODE.substitute(name=n, function=f, index=i) for n, (f, i) in _OF_PAIRS.items()]
    parts += [_EQUAL_CODE.substitute(name=name) for name in ("eq", "ne")]
    parts += [_ORDER_CODE.substitute(name=name, unordered=value) for name, value in _ORDERS.items()]
    return "".join(parts)


def _plain(name: str, result: str, function: str, *types: str) -> str:
    """A function that passes its arguments on."""
    arguments = ", ".join(f"{type} %x{i}" for i, type in enumerate(types))
    call = f"  %r = call {result} @{function}({arguments})"
    return f"\ndefine weak hidden {result} @{name}({arguments}) #0 {{\n{call}\n  ret {result} %r\n}}\n"
