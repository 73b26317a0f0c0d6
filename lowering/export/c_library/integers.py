"""Divisions of i64 and products of i128, which 32-bit CPUs have no instructions for, as LLVM IR."""

# Quotient and remainder by shifts and subtractions: a bit a step.
DIVISIONS = """
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
"""By the names that code for 32-bit Arm calls."""
# The product of i128, of which checks for overflow of i64 need the upper half: halves of 32 bits by hand.
PRODUCT = """
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
