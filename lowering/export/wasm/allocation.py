"""Memory whose size depends on data, as LLVM IR: a module takes it from the end of its own memory."""

from __future__ import annotations

ALLOCATOR = "stepwell_allocator"
"""The function that returns the address of the allocator, as a call of the model needs it."""

# `user` points to an i64, the first free address, of the calling script.
_TEXT = """
define internal ptr @allocate(ptr %user, i64 %slot, i64 %bytes) nounwind {
entry:
  %next = load i64, ptr %user, align 8
  %up = add i64 %bytes, 63
  %whole = and i64 %up, -64
  %end = add i64 %next, %whole
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %wide = zext i32 %pages to i64
  %limit = shl i64 %wide, 16
  %fits = icmp ule i64 %end, %limit
  br i1 %fits, label %give, label %measure
measure:
  %possible = icmp ule i64 %end, 4294967296
  br i1 %possible, label %grow, label %none
grow:
  %missing = sub i64 %end, %limit
  %padded = add i64 %missing, 65535
  %more = lshr i64 %padded, 16
  %more.pages = trunc i64 %more to i32
  %old = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %more.pages)
  %failed = icmp eq i32 %old, -1
  br i1 %failed, label %none, label %give
give:
  store i64 %end, ptr %user, align 8
  %address = trunc i64 %next to i32
  %place = inttoptr i32 %address to ptr
  ret ptr %place
none:
  ret ptr null
}
define ptr @stepwell_allocator() nounwind {
  ret ptr @allocate
}
declare i32 @llvm.wasm.memory.size.i32(i32)
declare i32 @llvm.wasm.memory.grow.i32(i32, i32)
"""


def allocation_code() -> str:
    """The IR."""
    return _TEXT
