"""
Functions in C for operations without an operator in the language; they need `stdint.h` and `stddef.h` only.

Each is written into the files that call it, together with the helpers that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import Template

from stepwell.runtime.abi import ARENA_ALIGNMENT, Status

# For a float type: `t` is its name in helpers, `c` its name in C, `i` the integer type of its size, `whole`
# the number from which on all numbers are integers, `m` the bits of the fraction, `e` the bits of the
# exponent.
_FLOAT = Template("""
static inline $i bits_of_$t($c x) {
  union { $c number; $i bits; } both;
  both.number = x;
  return both.bits;
}

static inline $c ${t}_of_bits($i x) {
  union { $i bits; $c number; } both;
  both.bits = x;
  return both.number;
}

static inline $c ${t}_maximum($c a, $c b) { return a > b || a != a ? a : b; }

static inline $c ${t}_minimum($c a, $c b) { return a < b || a != a ? a : b; }

static inline $c ${t}_maxnum($c a, $c b) { return a > b || b != b ? a : b; }

static inline $c ${t}_minnum($c a, $c b) { return a < b || b != b ? a : b; }

static inline $c ${t}_abs($c x) { return ${t}_of_bits(bits_of_$t(x) & $greatest); }

static inline $c ${t}_copysign($c x, $c sign) {
  return ${t}_of_bits((bits_of_$t(x) & $greatest) | (bits_of_$t(sign) & $least));
}

/* Rounds to 0; large numbers are integers, and NaN stays. */
static inline $c ${t}_trunc($c x) {
  return x > -$whole && x < $whole ? ${t}_copysign(($c)($i)x, x) : x;
}

static inline $c ${t}_floor($c x) {
  const $c t = ${t}_trunc(x);
  return t > x ? t - $one : t;
}

static inline $c ${t}_ceil($c x) {
  const $c t = ${t}_trunc(x);
  return ${t}_copysign(t < x ? t + $one : t, x);
}

/* Halves away from 0. */
static inline $c ${t}_round($c x) {
  const $c t = ${t}_trunc(x);
  return ${t}_abs(x - t) >= $half ? t + ${t}_copysign($one, x) : t;
}

/* Halves to the even neighbour. */
static inline $c ${t}_roundeven($c x) {
  const $c t = ${t}_trunc(x);
  const $c rest = ${t}_abs(x - t);
  return rest > $half || (rest == $half && ($i)t % 2 != 0) ? t + ${t}_copysign($one, x) : t;
}

/* The root of the fraction, two of its bits a step, rounded to nearest. */
static inline $c ${t}_sqrt($c x) {
  uint64_t fraction, root = 0, rest = 0;
  $i exponent, scale = 0, i;
  if (!(x > $zero)) return x == $zero || x != x ? x : ${t}_of_bits($nan);
  if (x > $largest) return x;
  if (x < $normal) {
    x *= $up;
    scale = $scale;
  }
  exponent = (bits_of_$t(x) >> $m) - $bias;
  fraction = (uint64_t)(bits_of_$t(x) & $fraction) | (uint64_t)1 << $m;
  if (exponent % 2 != 0) {
    fraction <<= 1;
    exponent--;
  }
  for (i = $m; i >= 0; i--) {
    const $i shift = 2 * i - $m;
    rest = rest << 2 | ((shift >= 0 ? fraction >> shift : fraction << -shift) & 3);
    root <<= 1;
    if (rest >= (root << 1 | 1)) {
      rest -= root << 1 | 1;
      root |= 1;
    }
  }
  if (rest > root) root++;
  root += (uint64_t)(exponent / 2 + $bias - 1 - scale) << $m;
  return ${t}_of_bits(($i)root);
}
""")
_FLOATS = (
    {
        **{"t": "f32", "c": "float", "i": "int32_t", "greatest": "INT32_MAX", "least": "INT32_MIN"},
        **{"whole": "8388608.0f", "one": "1.0f", "half": "0.5f", "zero": "0.0f", "nan": "0x7fc00000"},
        **{"largest": "3.4028235e+38f", "normal": "1.1754944e-38f", "up": "16777216.0f", "scale": "12"},
        **{"m": "23", "bias": "127", "fraction": "0x7fffff"},
    },
    {
        **{"t": "f64", "c": "double", "i": "int64_t", "greatest": "INT64_MAX", "least": "INT64_MIN"},
        **{"whole": "4503599627370496.0", "one": "1.0", "half": "0.5", "zero": "0.0"},
        **{"nan": "INT64_C(0x7ff8000000000000)", "largest": "1.7976931348623157e+308"},
        **{"normal": "2.2250738585072014e-308", "up": "18014398509481984.0", "scale": "27"},
        **{"m": "52", "bias": "1023", "fraction": "INT64_C(0xfffffffffffff)"},
    },
)
# From a float to an integer: its limits where the number is beyond, 0 for NaN.
_TO_SIGNED = Template("""
static inline int${bits}_t i${bits}_of_$t($c x) {
  if (!(x > -$limit)) return x != x ? 0 : INT${bits}_MIN;
  return x >= $limit ? INT${bits}_MAX : (int${bits}_t)x;
}
""")
_TO_UNSIGNED = Template("""
static inline uint${bits}_t u${bits}_of_$t($c x) {
  if (!(x > $zero)) return 0;
  return x >= $limit ? UINT${bits}_MAX : (uint${bits}_t)x;
}
""")
_INTEGER = Template("""
static inline int${bits}_t i${bits}_abs(int${bits}_t x) {
  return x < 0 ? (int${bits}_t)($zero - (uint${bits}_t)x) : x;
}

static inline int${bits}_t i${bits}_ones(int${bits}_t x) {
  uint${bits}_t rest = (uint${bits}_t)x;
  int${bits}_t count = 0;
  for (; rest != 0; rest >>= 1) count = (int${bits}_t)(count + (int${bits}_t)(rest & 1));
  return count;
}

static inline int${bits}_t i${bits}_leading_zeros(int${bits}_t x) {
  uint${bits}_t rest = (uint${bits}_t)x;
  int${bits}_t count = $bits;
  for (; rest != 0; rest >>= 1) count--;
  return count;
}

static inline int${bits}_t i${bits}_trailing_zeros(int${bits}_t x) {
  int${bits}_t count = 0;
  while (count < $bits && ((uint${bits}_t)x >> count & 1) == 0) count++;
  return count;
}
""")
_SMALL = """
static inline float f32_of_f16(uint16_t x) {
  const uint32_t sign = (uint32_t)(x & 0x8000) << 16, rest = x & 0x7fff;
  const float size = rest < 0x400 ? (float)rest * 5.9604645e-08f
    : f32_of_bits((int32_t)((rest << 13) + (rest < 0x7c00 ? 0x38000000u : 0x70000000u)));
  return f32_copysign(size, f32_of_bits((int32_t)sign));
}

/* To nearest, halves to even. */
static inline uint16_t f16_of_f32(float x) {
  const uint32_t sign = (uint32_t)bits_of_f32(x) >> 16 & 0x8000;
  uint32_t bits = (uint32_t)bits_of_f32(x) & 0x7fffffff;
  if (bits >= 0x47800000) bits = bits > 0x7f800000 ? 0x7e00 : 0x7c00;
  else if (bits < 0x38800000) bits = (uint32_t)bits_of_f32(f32_abs(x) + 0.5f) - 0x3f000000;
  else bits = (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
  return (uint16_t)(sign | bits);
}

static inline float f32_of_bf16(uint16_t x) { return f32_of_bits((int32_t)((uint32_t)x << 16)); }

static inline uint16_t bf16_of_f32(float x) {
  const uint32_t bits = (uint32_t)bits_of_f32(x);
  return (uint16_t)(x != x ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
"""
_INDICES = f"""
static inline int64_t floor_division(int64_t a, int64_t b) {{
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}}

static inline int64_t ceiling_division(int64_t a, int64_t b) {{
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}}

/* The nearest number that an index has. */
static inline ptrdiff_t index_of_i64(int64_t x) {{
#if PTRDIFF_MAX < INT64_MAX
  if (x < PTRDIFF_MIN || x > PTRDIFF_MAX) return x < 0 ? PTRDIFF_MIN : PTRDIFF_MAX;
#endif
  return (ptrdiff_t)x;
}}

static inline int32_t failed(model_call *call, int32_t row, ptrdiff_t found, ptrdiff_t expected) {{
  call->values[0] = found;
  call->values[1] = expected;
  return row;
}}

/* Memory of the caller's, which is aligned; that of the first slots is for outputs. */
static inline uint8_t *allocate(model_call *call, int64_t slot, int64_t bytes, void **allocated) {{
  void *memory = call->allocate == NULL ? NULL : call->allocate(call->user, slot, bytes);
  if (memory == NULL || (uintptr_t)memory % {ARENA_ALIGNMENT} != 0) return NULL;
  if (slot < MODEL_OUTPUTS) allocated[slot] = memory;
  return (uint8_t *)memory;
}}

static inline int32_t call_host(model_call *call, int64_t callee, int64_t *words, int64_t count) {{
  if (call->host == NULL) return {int(Status.HOST_FAILED)};
  return call->host(call->user, callee, words, count);
}}

static inline int64_t word_of(const void *pointer) {{ return (int64_t)(intptr_t)pointer; }}

static inline uint8_t *pointer_of(int64_t word) {{ return (uint8_t *)(intptr_t)word; }}
"""
_LIMITS = {8: 7, 16: 15, 32: 31, 64: 63}


def _to_integers() -> str:
    parts: list[str] = []
    for kind in _FLOATS:
        suffix = "f" if kind["t"] == "f32" else ""
        names = {"t": kind["t"], "c": kind["c"], "zero": kind["zero"]}
        for bits, power in _LIMITS.items():
            parts.append(_TO_SIGNED.substitute(names, bits=bits, limit=f"{2.0**power:.1f}{suffix}"))
            parts.append(_TO_UNSIGNED.substitute(names, bits=bits, limit=f"{2.0**bits:.1f}{suffix}"))
    return "".join(parts)


_TEXT = "".join(
    [
        *(_FLOAT.substitute(kind) for kind in _FLOATS),
        _to_integers(),
        *(_INTEGER.substitute(bits=bits, zero="UINT64_C(0)" if bits == 64 else "0u") for bits in _LIMITS),
        _SMALL,
        _INDICES,
    ]
)
_HEAD = re.compile(r"^static inline [^(]*?(\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\b(\w+)\(")


def _split() -> dict[str, str]:
    """The helpers by name, in the order of the text."""
    found: dict[str, str] = {}
    for part in _TEXT.strip().split("\n\n"):
        head = _HEAD.search(part)
        assert head is not None
        found[head[1]] = part.strip() + "\n"
    return found


HELPERS = _split()
"""The text of each helper by its name."""


def helper_texts(called: Iterable[str], text: str = "") -> str:
    """The helpers of some names, of a text and of each other, callees first."""
    needed: set[str] = set()
    waiting = [*called, *(name for name in _CALL.findall(text) if name in HELPERS)]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        waiting += [other for other in _CALL.findall(HELPERS[name]) if other in HELPERS]
    return "\n".join(text for name, text in HELPERS.items() if name in needed)
