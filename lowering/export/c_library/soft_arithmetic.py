"""
Arithmetic of f64 in integers, for CPUs without it, as LLVM IR.

Results are rounded to nearest, ties to even, with subnormal numbers; a NaN has one pattern. Code for 32-bit
Arm calls these functions by the names of its ABI, and passes floats as integers.
Sources: IEEE 754-2019; John Hauser's Berkeley SoftFloat, whose way of rounding this is; Run-time ABI for the
Arm Architecture, section 5.1.
"""

from __future__ import annotations

# Numbers before they are rounded: sign (bit 63), exponent, and a significand whose highest bit is bit 62, for
# the value significand x 2^(exponent - 1023 - 61). What is shifted out is kept in the lowest bit.
PARTS = """
define internal i64 @soft_shift(i64 %x, i32 %n) #0 {
  %wide = zext i32 %n to i64
  %far = icmp ugt i32 %n, 63
  %count = select i1 %far, i64 63, i64 %wide
  %moved = lshr i64 %x, %count
  %back = shl i64 %moved, %count
  %lost = icmp ne i64 %back, %x
  %bit = zext i1 %lost to i64
  %near = or i64 %moved, %bit
  %any = icmp ne i64 %x, 0
  %all = zext i1 %any to i64
  %r = select i1 %far, i64 %all, i64 %near
  ret i64 %r
}
define internal i64 @soft_round(i64 %sign, i32 %exponent, i64 %x) #0 {
  %under = icmp slt i32 %exponent, 0
  %below = sub i32 0, %exponent
  %count = select i1 %under, i32 %below, i32 0
  %sig = call i64 @soft_shift(i64 %x, i32 %count)
  %e = select i1 %under, i32 0, i32 %exponent
  %up = add i64 %sig, 512
  %short = lshr i64 %up, 10
  %bits = and i64 %sig, 1023
  %tie = icmp eq i64 %bits, 512
  %odd = zext i1 %tie to i64
  %mask = xor i64 %odd, -1
  %even = and i64 %short, %mask
  %e.wide = zext i32 %e to i64
  %e.placed = shl i64 %e.wide, 52
  %none = icmp eq i64 %even, 0
  %e.used = select i1 %none, i64 0, i64 %e.placed
  %number = add i64 %e.used, %even
  %over = icmp sgt i32 %exponent, 2045
  %full = icmp uge i64 %number, 9218868437227405312
  %large = or i1 %over, %full
  %finite = select i1 %large, i64 9218868437227405312, i64 %number
  %r = or i64 %finite, %sign
  ret i64 %r
}
define internal i64 @soft_normal(i64 %sign, i32 %exponent, i64 %x) #0 {
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
  %some = call i64 @soft_round(i64 %sign, i32 %e, i64 %sig)
  %none = icmp eq i64 %x, 0
  %r = select i1 %none, i64 %sign, i64 %some
  ret i64 %r
}
define internal { i32, i64 } @soft_parts(i64 %a) #0 {
  %field = lshr i64 %a, 52
  %e.wide = and i64 %field, 2047
  %e = trunc i64 %e.wide to i32
  %fraction = and i64 %a, 4503599627370495
  %hidden = or i64 %fraction, 4503599627370496
  %zeros.wide = call i64 @llvm.ctlz.i64(i64 %fraction, i1 false)
  %shift.wide = sub i64 %zeros.wide, 11
  %shift.safe = and i64 %shift.wide, 63
  %up = shl i64 %fraction, %shift.safe
  %shift = trunc i64 %shift.wide to i32
  %less = sub i32 1, %shift
  %tiny = icmp eq i32 %e, 0
  %exponent = select i1 %tiny, i32 %less, i32 %e
  %sig = select i1 %tiny, i64 %up, i64 %hidden
  %p = insertvalue { i32, i64 } poison, i32 %exponent, 0
  %q = insertvalue { i32, i64 } %p, i64 %sig, 1
  ret { i32, i64 } %q
}
define internal i64 @soft_high(i64 %a, i64 %b) #0 {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %carry = lshr i64 %p00, 32
  %m1 = add i64 %p10, %carry
  %m1.low = and i64 %m1, 4294967295
  %m2 = add i64 %p01, %m1.low
  %m1.up = lshr i64 %m1, 32
  %m2.up = lshr i64 %m2, 32
  %h = add i64 %p11, %m1.up
  %high = add i64 %h, %m2.up
  %low = mul i64 %a, %b
  %rest = icmp ne i64 %low, 0
  %bit = zext i1 %rest to i64
  %r = or i64 %high, %bit
  ret i64 %r
}
"""
ARITHMETIC = """
define weak hidden i64 @__aeabi_dadd(i64 %a, i64 %b) #0 {
entry:
  %abs.a = and i64 %a, 9223372036854775807
  %abs.b = and i64 %b, 9223372036854775807
  %a.large = icmp uge i64 %abs.a, %abs.b
  %large = select i1 %a.large, i64 %a, i64 %b
  %small = select i1 %a.large, i64 %b, i64 %a
  %abs.large = select i1 %a.large, i64 %abs.a, i64 %abs.b
  %abs.small = select i1 %a.large, i64 %abs.b, i64 %abs.a
  %sign = and i64 %large, -9223372036854775808
  %signs = xor i64 %large, %small
  %opposite = icmp slt i64 %signs, 0
  %special = icmp uge i64 %abs.large, 9218868437227405312
  br i1 %special, label %infinite, label %finite
infinite:
  %nan = icmp ugt i64 %abs.large, 9218868437227405312
  %both = icmp eq i64 %abs.small, %abs.large
  %none = and i1 %both, %opposite
  %bad = or i1 %nan, %none
  %s = select i1 %bad, i64 9221120237041090560, i64 %large
  ret i64 %s
finite:
  %parts.l = call { i32, i64 } @soft_parts(i64 %abs.large)
  %parts.s = call { i32, i64 } @soft_parts(i64 %abs.small)
  %e = extractvalue { i32, i64 } %parts.l, 0
  %e.s = extractvalue { i32, i64 } %parts.s, 0
  %sig.l = extractvalue { i32, i64 } %parts.l, 1
  %sig.s = extractvalue { i32, i64 } %parts.s, 1
  %no.small = icmp eq i64 %abs.small, 0
  br i1 %no.small, label %alone, label %two
alone:
  %no.large = icmp eq i64 %abs.large, 0
  %zeros = and i1 %no.large, %opposite
  %first = select i1 %zeros, i64 0, i64 %large
  ret i64 %first
two:
  %wide.l = shl i64 %sig.l, 9
  %wide.s = shl i64 %sig.s, 9
  %distance = sub i32 %e, %e.s
  %aligned = call i64 @soft_shift(i64 %wide.s, i32 %distance)
  %sum = add i64 %wide.l, %aligned
  %difference = sub i64 %wide.l, %aligned
  %sig = select i1 %opposite, i64 %difference, i64 %sum
  %zero = icmp eq i64 %sig, 0
  %sign.used = select i1 %zero, i64 0, i64 %sign
  %r = call i64 @soft_normal(i64 %sign.used, i32 %e, i64 %sig)
  ret i64 %r
}
define weak hidden i64 @__aeabi_dsub(i64 %a, i64 %b) #0 {
  %minus = xor i64 %b, -9223372036854775808
  %r = call i64 @__aeabi_dadd(i64 %a, i64 %minus)
  ret i64 %r
}
define weak hidden i64 @__aeabi_dmul(i64 %a, i64 %b) #0 {
entry:
  %abs.a = and i64 %a, 9223372036854775807
  %abs.b = and i64 %b, 9223372036854775807
  %signs = xor i64 %a, %b
  %sign = and i64 %signs, -9223372036854775808
  %a.large = icmp uge i64 %abs.a, %abs.b
  %large = select i1 %a.large, i64 %abs.a, i64 %abs.b
  %small = select i1 %a.large, i64 %abs.b, i64 %abs.a
  %none = icmp eq i64 %small, 0
  %special = icmp uge i64 %large, 9218868437227405312
  br i1 %special, label %infinite, label %finite
infinite:
  %nan = icmp ugt i64 %large, 9218868437227405312
  %bad = or i1 %nan, %none
  %signed = or i64 %sign, 9218868437227405312
  %s = select i1 %bad, i64 9221120237041090560, i64 %signed
  ret i64 %s
finite:
  br i1 %none, label %zero, label %product
zero:
  ret i64 %sign
product:
  %parts.a = call { i32, i64 } @soft_parts(i64 %abs.a)
  %parts.b = call { i32, i64 } @soft_parts(i64 %abs.b)
  %e.a = extractvalue { i32, i64 } %parts.a, 0
  %e.b = extractvalue { i32, i64 } %parts.b, 0
  %sig.a = extractvalue { i32, i64 } %parts.a, 1
  %sig.b = extractvalue { i32, i64 } %parts.b, 1
  %wide.a = shl i64 %sig.a, 10
  %wide.b = shl i64 %sig.b, 11
  %sig = call i64 @soft_high(i64 %wide.a, i64 %wide.b)
  %exponents = add i32 %e.a, %e.b
  %e = sub i32 %exponents, 1023
  %r = call i64 @soft_normal(i64 %sign, i32 %e, i64 %sig)
  ret i64 %r
}
define weak hidden i64 @__aeabi_ddiv(i64 %a, i64 %b) #0 {
entry:
  %abs.a = and i64 %a, 9223372036854775807
  %abs.b = and i64 %b, 9223372036854775807
  %signs = xor i64 %a, %b
  %sign = and i64 %signs, -9223372036854775808
  %inf.a = icmp uge i64 %abs.a, 9218868437227405312
  %inf.b = icmp uge i64 %abs.b, 9218868437227405312
  %zero.a = icmp eq i64 %abs.a, 0
  %zero.b = icmp eq i64 %abs.b, 0
  %special.a = or i1 %inf.a, %zero.a
  %special.b = or i1 %inf.b, %zero.b
  %special = or i1 %special.a, %special.b
  br i1 %special, label %rest, label %divide
rest:
  %nan.a = icmp ugt i64 %abs.a, 9218868437227405312
  %nan.b = icmp ugt i64 %abs.b, 9218868437227405312
  %infs = and i1 %inf.a, %inf.b
  %zeros = and i1 %zero.a, %zero.b
  %nans = or i1 %nan.a, %nan.b
  %equal = or i1 %infs, %zeros
  %bad = or i1 %nans, %equal
  %large = or i1 %inf.a, %zero.b
  %infinite = or i64 %sign, 9218868437227405312
  %s = select i1 %large, i64 %infinite, i64 %sign
  %t = select i1 %bad, i64 9221120237041090560, i64 %s
  ret i64 %t
divide:
  %parts.a = call { i32, i64 } @soft_parts(i64 %abs.a)
  %parts.b = call { i32, i64 } @soft_parts(i64 %abs.b)
  %e.a = extractvalue { i32, i64 } %parts.a, 0
  %e.b = extractvalue { i32, i64 } %parts.b, 0
  %sig.a = extractvalue { i32, i64 } %parts.a, 1
  %sig.b = extractvalue { i32, i64 } %parts.b, 1
  %less = icmp ult i64 %sig.a, %sig.b
  %one = zext i1 %less to i32
  %one.wide = zext i1 %less to i64
  %first = shl i64 %sig.a, %one.wide
  %difference = sub i32 %e.a, %e.b
  %lower = sub i32 %difference, %one
  %e = add i32 %lower, 1022
  br label %step
step:
  %i = phi i32 [ 63, %divide ], [ %i.next, %step ]
  %q = phi i64 [ 0, %divide ], [ %q.next, %step ]
  %r = phi i64 [ %first, %divide ], [ %r.next, %step ]
  %fits = icmp uge i64 %r, %sig.b
  %reduced = sub i64 %r, %sig.b
  %left = select i1 %fits, i64 %reduced, i64 %r
  %r.next = shl i64 %left, 1
  %bit = zext i1 %fits to i64
  %q.twice = shl i64 %q, 1
  %q.next = or i64 %q.twice, %bit
  %i.next = sub i32 %i, 1
  %done = icmp eq i32 %i.next, 0
  br i1 %done, label %end, label %step
end:
  %more = icmp ne i64 %left, 0
  %sticky = zext i1 %more to i64
  %sig = or i64 %q.next, %sticky
  %result = call i64 @soft_round(i64 %sign, i32 %e, i64 %sig)
  ret i64 %result
}
define weak hidden double @sqrt(double %x) #0 {
entry:
  %a = bitcast double %x to i64
  %abs = and i64 %a, 9223372036854775807
  %zero = icmp eq i64 %abs, 0
  %negative = icmp slt i64 %a, 0
  %large = icmp uge i64 %abs, 9218868437227405312
  %odd.one = or i1 %zero, %negative
  %special = or i1 %odd.one, %large
  br i1 %special, label %rest, label %root
rest:
  %nan = icmp ugt i64 %abs, 9218868437227405312
  %not.zero = xor i1 %zero, true
  %below = and i1 %negative, %not.zero
  %bad = or i1 %nan, %below
  %s = select i1 %bad, i64 9221120237041090560, i64 %a
  %s.float = bitcast i64 %s to double
  ret double %s.float
root:
  %parts = call { i32, i64 } @soft_parts(i64 %abs)
  %e.biased = extractvalue { i32, i64 } %parts, 0
  %sig = extractvalue { i32, i64 } %parts, 1
  %e = sub i32 %e.biased, 1023
  %odd = and i32 %e, 1
  %odd.wide = zext i32 %odd to i64
  %even = sub i32 %e, %odd
  %half = ashr i32 %even, 1
  %radicand.low = shl i64 %sig, %odd.wide
  %radicand = shl i64 %radicand.low, 9
  br label %step
step:
  %i = phi i32 [ 56, %root ], [ %i.next, %step ]
  %q = phi i64 [ 0, %root ], [ %q.next, %step ]
  %r = phi i64 [ 0, %root ], [ %r.next, %step ]
  %n = phi i64 [ %radicand, %root ], [ %n.next, %step ]
  %two = lshr i64 %n, 61
  %pair = and i64 %two, 3
  %n.next = shl i64 %n, 2
  %r.up = shl i64 %r, 2
  %trial = or i64 %r.up, %pair
  %q.up = shl i64 %q, 2
  %subtrahend = or i64 %q.up, 1
  %fits = icmp uge i64 %trial, %subtrahend
  %reduced = sub i64 %trial, %subtrahend
  %r.next = select i1 %fits, i64 %reduced, i64 %trial
  %bit = zext i1 %fits to i64
  %q.twice = shl i64 %q, 1
  %q.next = or i64 %q.twice, %bit
  %i.next = sub i32 %i, 1
  %done = icmp eq i32 %i.next, 0
  br i1 %done, label %end, label %step
end:
  %more = icmp ne i64 %r.next, 0
  %sticky = zext i1 %more to i64
  %placed = shl i64 %q.next, 7
  %whole = or i64 %placed, %sticky
  %e.result = add i32 %half, 1022
  %bits = call i64 @soft_round(i64 0, i32 %e.result, i64 %whole)
  %result = bitcast i64 %bits to double
  ret double %result
}
"""
