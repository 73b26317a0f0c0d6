"""Functions of f32 that LLVM calls where a CPU has no instruction, as LLVM IR: roundings, extrema."""

from __future__ import annotations

from string import Template

# From here on every f32 is an integer.
_WHOLE = "0x4160000000000000"  # 2^23
_TRUNC = Template("""
define weak hidden float @truncf(float %x) #0 {
  %i = fptosi float %x to i32
  %t = sitofp i32 %i to float
  %abs = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %abs, $whole
  %r = select i1 %small, float %t, float %x
  %s = call float @llvm.copysign.f32(float %r, float %x)
  ret float %s
}
define weak hidden float @floorf(float %x) #0 {
  %t = call float @truncf(float %x)
  %above = fcmp ogt float %t, %x
  %less = fsub float %t, 1.0
  %r = select i1 %above, float %less, float %t
  ret float %r
}
define weak hidden float @ceilf(float %x) #0 {
  %t = call float @truncf(float %x)
  %below = fcmp olt float %t, %x
  %more = fadd float %t, 1.0
  %r = select i1 %below, float %more, float %t
  %s = call float @llvm.copysign.f32(float %r, float %x)
  ret float %s
}
define weak hidden float @roundf(float %x) #0 {
  %t = call float @truncf(float %x)
  %rest = fsub float %x, %t
  %size = call float @llvm.fabs.f32(float %rest)
  %up = fcmp oge float %size, 0.5
  %one = call float @llvm.copysign.f32(float 1.0, float %x)
  %away = fadd float %t, %one
  %r = select i1 %up, float %away, float %t
  ret float %r
}
define weak hidden float @fmaxf(float %a, float %b) #0 {
  %more = fcmp ogt float %a, %b
  %none = fcmp uno float %b, 0.0
  %first = or i1 %more, %none
  %r = select i1 %first, float %a, float %b
  ret float %r
}
define weak hidden float @fminf(float %a, float %b) #0 {
  %less = fcmp olt float %a, %b
  %none = fcmp uno float %b, 0.0
  %first = or i1 %less, %none
  %r = select i1 %first, float %a, float %b
  ret float %r
}
declare float @llvm.fabs.f32(float)
declare float @llvm.copysign.f32(float, float)
""")
# To even: 2^23 is added and subtracted, and the sum has no room for a fraction.
_EVEN = Template("""
define weak hidden float @$name(float %x) #0 {
  %magic = call float @llvm.copysign.f32(float $whole, float %x)
  %sum = fadd float %x, %magic
  %t = fsub float %sum, %magic
  %abs = call float @llvm.fabs.f32(float %x)
  %small = fcmp olt float %abs, $whole
  %r = select i1 %small, float %t, float %x
  %s = call float @llvm.copysign.f32(float %r, float %x)
  ret float %s
}
""")


def f32_functions_code() -> str:
    """The IR; its functions have the attributes `#0`."""
    names = ("rintf", "nearbyintf", "roundevenf")
    return _TRUNC.substitute(whole=_WHOLE) + "".join(_EVEN.substitute(name=n, whole=_WHOLE) for n in names)
