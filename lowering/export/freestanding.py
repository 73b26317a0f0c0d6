"""The functions of the C library that code calls by itself, as LLVM IR: an exported file defines them."""

from __future__ import annotations

from string import Template

from stepwell.lowering.export.f32_functions import f32_functions_code

_TEXT = Template("""
define weak hidden ptr @memcpy(ptr %to, ptr %from, $size %n) #0 {
$start
blocks:
  %i = phi $size [ $begun ], [ %i.next, %block ]
  %i.next = add $size %i, 32
  %whole = icmp ule $size %i.next, %n
  br i1 %whole, label %block, label %tail
block:
  %source = getelementptr i8, ptr %from, $size %i
  %goal = getelementptr i8, ptr %to, $size %i
  %v = load <32 x i8>, ptr %source, align 1
  store <32 x i8> %v, ptr %goal, align 1
  br label %blocks
tail:
  %j = phi $size [ %i, %blocks ], [ %j.next, %byte ]
  %more = icmp ult $size %j, %n
  br i1 %more, label %byte, label %done
byte:
  %s = getelementptr i8, ptr %from, $size %j
  %g = getelementptr i8, ptr %to, $size %j
  %b = load i8, ptr %s, align 1
  store i8 %b, ptr %g, align 1
  %j.next = add $size %j, 1
  br label %tail
done:
  ret ptr %to
}

define weak hidden ptr @memmove(ptr %to, ptr %from, $size %n) #0 {
entry:
  %a = ptrtoint ptr %to to $size
  %b = ptrtoint ptr %from to $size
  %distance = sub $size %a, %b
  %forward = icmp uge $size %distance, %n
  br i1 %forward, label %copy, label %back
copy:
  %r = call ptr @memcpy(ptr %to, ptr %from, $size %n)
  ret ptr %to
back:
  %i = phi $size [ %n, %entry ], [ %i.next, %byte ]
  %more = icmp ne $size %i, 0
  br i1 %more, label %byte, label %done
byte:
  %i.next = sub $size %i, 1
  %s = getelementptr i8, ptr %from, $size %i.next
  %g = getelementptr i8, ptr %to, $size %i.next
  %v = load i8, ptr %s, align 1
  store i8 %v, ptr %g, align 1
  br label %back
done:
  ret ptr %to
}

define weak hidden ptr @memset(ptr %to, i32 %value, $size %n) #0 {
entry:
  %byte.value = trunc i32 %value to i8
  %lane = insertelement <32 x i8> poison, i8 %byte.value, i32 0
  %vector = shufflevector <32 x i8> %lane, <32 x i8> poison, <32 x i32> zeroinitializer
  br label %blocks
blocks:
  %i = phi $size [ 0, %entry ], [ %i.next, %block ]
  %i.next = add $size %i, 32
  %whole = icmp ule $size %i.next, %n
  br i1 %whole, label %block, label %tail
block:
  %goal = getelementptr i8, ptr %to, $size %i
  store <32 x i8> %vector, ptr %goal, align 1
  br label %blocks
tail:
  %j = phi $size [ %i, %blocks ], [ %j.next, %byte ]
  %more = icmp ult $size %j, %n
  br i1 %more, label %byte, label %done
byte:
  %g = getelementptr i8, ptr %to, $size %j
  store i8 %byte.value, ptr %g, align 1
  %j.next = add $size %j, 1
  br label %tail
done:
  ret ptr %to
}

define weak hidden i32 @memcmp(ptr %a, ptr %b, $size %n) #0 {
entry:
  br label %next
next:
  %i = phi $size [ 0, %entry ], [ %i.next, %same ]
  %more = icmp ult $size %i, %n
  br i1 %more, label %compare, label %equal
compare:
  %p = getelementptr i8, ptr %a, $size %i
  %q = getelementptr i8, ptr %b, $size %i
  %x = load i8, ptr %p, align 1
  %y = load i8, ptr %q, align 1
  %differ = icmp ne i8 %x, %y
  br i1 %differ, label %found, label %same
same:
  %i.next = add $size %i, 1
  br label %next
found:
  %xw = zext i8 %x to i32
  %yw = zext i8 %y to i32
  %d = sub i32 %xw, %yw
  ret i32 %d
equal:
  ret i32 0
}

; Without it, LLVM would make calls of memcpy out of its loop.
attributes #0 = { nounwind "no-builtins" }
""")


# Quotient and remainder by shifts and subtractions: a bit a step.
_DIVISIONS = """
define weak hidden { i64, i64 } @__aeabi_uldivmod(i64 %a, i64 %b) #0 {
entry:
  br label %step
step:
  %i = phi i32 [ 63, %entry ], [ %i.next, %step ]
  %q = phi i64 [ 0, %entry ], [ %q.next, %step ]
  %r = phi i64 [ 0, %entry ], [ %r.next, %step ]
  %wide = zext i32 %i to i64
  %shifted = lshr i64 %a, %wide
  %bit = and i64 %shifted, 1
  %top = icmp slt i64 %r, 0
  %twice = shl i64 %r, 1
  %rest = or i64 %twice, %bit
  %not.less = icmp uge i64 %rest, %b
  %fits = or i1 %top, %not.less
  %less = sub i64 %rest, %b
  %r.next = select i1 %fits, i64 %less, i64 %rest
  %q.twice = shl i64 %q, 1
  %one = zext i1 %fits to i64
  %q.next = or i64 %q.twice, %one
  %i.next = sub i32 %i, 1
  %done = icmp eq i32 %i, 0
  br i1 %done, label %end, label %step
end:
  %p0 = insertvalue { i64, i64 } poison, i64 %q.next, 0
  %p1 = insertvalue { i64, i64 } %p0, i64 %r.next, 1
  ret { i64, i64 } %p1
}

define weak hidden { i64, i64 } @__aeabi_ldivmod(i64 %a, i64 %b) #0 {
  %a.sign = ashr i64 %a, 63
  %b.sign = ashr i64 %b, 63
  %a.flip = xor i64 %a, %a.sign
  %a.abs = sub i64 %a.flip, %a.sign
  %b.flip = xor i64 %b, %b.sign
  %b.abs = sub i64 %b.flip, %b.sign
  %pair = call { i64, i64 } @__aeabi_uldivmod(i64 %a.abs, i64 %b.abs)
  %q = extractvalue { i64, i64 } %pair, 0
  %r = extractvalue { i64, i64 } %pair, 1
  %q.sign = xor i64 %a.sign, %b.sign
  %q.flip = xor i64 %q, %q.sign
  %q.signed = sub i64 %q.flip, %q.sign
  %r.flip = xor i64 %r, %a.sign
  %r.signed = sub i64 %r.flip, %a.sign
  %p0 = insertvalue { i64, i64 } poison, i64 %q.signed, 0
  %p1 = insertvalue { i64, i64 } %p0, i64 %r.signed, 1
  ret { i64, i64 } %p1
}
"""
# The product of i128, of which checks for overflow of i64 need the upper half: halves of 32 bits by hand.
_PRODUCT = """
define weak hidden i128 @__multi3(i128 %a, i128 %b) #0 {
  %a.low = trunc i128 %a to i64
  %b.low = trunc i128 %b to i64
  %a.up = lshr i128 %a, 64
  %b.up = lshr i128 %b, 64
  %a.high = trunc i128 %a.up to i64
  %b.high = trunc i128 %b.up to i64
  %a0 = and i64 %a.low, 4294967295
  %a1 = lshr i64 %a.low, 32
  %b0 = and i64 %b.low, 4294967295
  %b1 = lshr i64 %b.low, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %carry = lshr i64 %p00, 32
  %middle = add i64 %p10, %carry
  %middle.low = and i64 %middle, 4294967295
  %second = add i64 %p01, %middle.low
  %low.up = shl i64 %second, 32
  %low.down = and i64 %p00, 4294967295
  %low = or i64 %low.up, %low.down
  %middle.up = lshr i64 %middle, 32
  %second.up = lshr i64 %second, 32
  %h0 = add i64 %p11, %middle.up
  %h1 = add i64 %h0, %second.up
  %cross0 = mul i64 %a.low, %b.high
  %cross1 = mul i64 %a.high, %b.low
  %h2 = add i64 %h1, %cross0
  %high = add i64 %h2, %cross1
  %low.wide = zext i64 %low to i128
  %high.wide = zext i64 %high to i128
  %high.placed = shl i128 %high.wide, 64
  %r = or i128 %high.placed, %low.wide
  ret i128 %r
}
"""
# The same functions by other names, for each alignment that is known.
_NAMES = """
define weak hidden ptr @__aeabi_memcpy$known(ptr %to, ptr %from, i32 %n) #0 {
  %r = call ptr @memcpy(ptr %to, ptr %from, i32 %n)
  ret ptr %r
}
define weak hidden ptr @__aeabi_memmove$known(ptr %to, ptr %from, i32 %n) #0 {
  %r = call ptr @memmove(ptr %to, ptr %from, i32 %n)
  ret ptr %r
}
define weak hidden ptr @__aeabi_memset$known(ptr %to, i32 %n, i32 %value) #0 {
  %r = call ptr @memset(ptr %to, i32 %value, i32 %n)
  ret ptr %r
}
define weak hidden ptr @__aeabi_memclr$known(ptr %to, i32 %n) #0 {
  %r = call ptr @memset(ptr %to, i32 0, i32 %n)
  ret ptr %r
}
"""


_SHORT_START = """entry:
  br label %blocks"""
# Four at a time: a GRU of 64 steps, which copies its state, takes 0.6 ms with libc's copies and took 0.7.
_LONG_START = Template("""entry:
  br label %wide
wide:
  %w = phi $size [ 0, %entry ], [ %w.next, %four ]
  %w.next = add $size %w, 128
  %fits = icmp ule $size %w.next, %n
  br i1 %fits, label %four, label %blocks
four:
  %w1 = add $size %w, 32
  %w2 = add $size %w, 64
  %w3 = add $size %w, 96
  %s0 = getelementptr i8, ptr %from, $size %w
  %s1 = getelementptr i8, ptr %from, $size %w1
  %s2 = getelementptr i8, ptr %from, $size %w2
  %s3 = getelementptr i8, ptr %from, $size %w3
  %g0 = getelementptr i8, ptr %to, $size %w
  %g1 = getelementptr i8, ptr %to, $size %w1
  %g2 = getelementptr i8, ptr %to, $size %w2
  %g3 = getelementptr i8, ptr %to, $size %w3
  %v0 = load <32 x i8>, ptr %s0, align 1
  %v1 = load <32 x i8>, ptr %s1, align 1
  %v2 = load <32 x i8>, ptr %s2, align 1
  %v3 = load <32 x i8>, ptr %s3, align 1
  store <32 x i8> %v0, ptr %g0, align 1
  store <32 x i8> %v1, ptr %g1, align 1
  store <32 x i8> %v2, ptr %g2, align 1
  store <32 x i8> %v3, ptr %g3, align 1
  br label %wide""")


def freestanding_code(arch: str, pointer_bytes: int) -> str:
    """The IR of `memcpy` and the like, and of what else code for an architecture calls by itself."""
    size = f"i{8 * pointer_bytes}"
    is_long = pointer_bytes == 8  # small machines have small files
    start = _LONG_START.substitute(size=size) if is_long else _SHORT_START
    text = _TEXT.substitute(size=size, start=start, begun="%w, %wide" if is_long else "0, %entry")
    if arch == "wasm32":
        return text + f32_functions_code() + _PRODUCT
    if arch != "armv7":
        return text
    return (
        text
        + f32_functions_code()
        + _DIVISIONS
        + "".join(_NAMES.replace("$known", known) for known in ("", "4", "8"))
    )
