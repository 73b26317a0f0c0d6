"""The function of a header that asks the user's CPU for the features of the code, by CPUID, as text of C."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.runtime.machine.cpu_features import X86_64
from stepwell.runtime.targets.triples import arch_of

_REGISTERS = "abcd"


def supported_function(name: str, triple: str, features: Sequence[str]) -> str:
    """`NAME_supported()`; 1 where a CPU cannot be asked, or each of the architecture has the features."""
    tests = _tests(features) if arch_of(triple) == "x86_64" else []
    body = f"  return {_conjunction(tests)};" if tests else "  return 1;"
    return f"static inline int32_t {name}_supported(void) {{ /* may this CPU run the code */\n{body}\n}}\n"


def needs_cpuid(triple: str, features: Sequence[str]) -> bool:
    """Whether the function uses `STEPWELL_CPUID`."""
    return arch_of(triple) == "x86_64" and bool(_tests(features))


def _conjunction(tests: Sequence[str]) -> str:
    return " &&\n         ".join(tests)


def _tests(features: Sequence[str]) -> list[str]:
    """Tests in C: of the registers that the system saves, and of the bits in each register of CPUID."""
    wanted: dict[tuple[int, int, int], int] = {}
    state = 0
    for feature in features:
        if (bit := X86_64.get(feature)) is not None:
            key = bit.leaf, bit.subleaf, bit.register
            wanted[key] = wanted.get(key, 0) | 1 << bit.bit
            state |= bit.state
    tests = [
        f"stepwell_cpuid({leaf:#x}u, {subleaf}u, {register}, {bits:#x}u)"
        for (leaf, subleaf, register), bits in sorted(wanted.items())
    ]
    return [*([f"stepwell_saves({state:#x}u)"] if state else []), *tests]


CPUID = """\
#if !defined(STEPWELL_CPUID) && (defined(__x86_64__) || defined(_M_X64))
#define STEPWELL_CPUID
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int32_t stepwell_cpuid(uint32_t leaf, uint32_t subleaf, int32_t reg, uint32_t bits) {
  int r[4];
  __cpuid(r, (int)(leaf & 0x80000000u));
  if ((uint32_t)r[0] < leaf) return 0;
  __cpuidex(r, (int)leaf, (int)subleaf);
  return ((uint32_t)r[reg] & bits) == bits;
}
static inline int32_t stepwell_saves(uint32_t state) {
  return stepwell_cpuid(1, 0, 2, 1u << 27) && ((uint32_t)_xgetbv(0) & state) == state;
}
#else
static inline void stepwell_ask(uint32_t leaf, uint32_t subleaf, uint32_t *r) {
  __asm__ __volatile__("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(subleaf));
}
static inline int32_t stepwell_cpuid(uint32_t leaf, uint32_t subleaf, int32_t reg, uint32_t bits) {
  uint32_t r[4];
  stepwell_ask(leaf & 0x80000000u, 0, r);
  if (r[0] < leaf) return 0;
  stepwell_ask(leaf, subleaf, r);
  return (r[reg] & bits) == bits;
}
static inline int32_t stepwell_saves(uint32_t state) { /* does the system save these registers */
  uint32_t low, high;
  if (!stepwell_cpuid(1, 0, 2, 1u << 27)) return 0;
  __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  return (low & state) == state;
}
#endif
#endif
"""
"""The questions to a CPU of x86-64, once in a program."""
