"""The check of weights in a file of their own: `NAME_check_weights`, as LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

import numpy as np

from stepwell.lowering.export.parts import Chunk
from stepwell.runtime.abi import EntryStatus
from stepwell.runtime.interface import Array

_WORD_BYTES = 8
_MASK = (1 << 64) - 1

# The sum of i64, each times an odd number of its own, so that exchanged ones count too.
_TEXT = Template("""
define i32 @${name}_check_weights(ptr %base, $size %bytes) #0 {
entry:
  %none = icmp eq ptr %base, null
  %other = icmp ne $size %bytes, $bytes
  %bad = or i1 %none, %other
  br i1 %bad, label %wrong, label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %word ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %word ]
  %more = icmp ult i64 %i, $words
  br i1 %more, label %word, label %last
word:
  %place = getelementptr i64, ptr %base, i64 %i
  %value = load i64, ptr %place, align 1
  %twice = shl i64 %i, 1
  %odd = or i64 %twice, 1
  %product = mul i64 %value, %odd
  %sum.next = add i64 %sum, %product
  %i.next = add i64 %i, 1
  br label %next
last:
  %j = phi i64 [ $rest, %next ], [ %j.next, %byte ]
  %total = phi i64 [ %sum, %next ], [ %total.next, %byte ]
  %left = icmp ult i64 %j, $bytes
  br i1 %left, label %byte, label %compare
byte:
  %at = getelementptr i8, ptr %base, i64 %j
  %b = load i8, ptr %at, align 1
  %wide = zext i8 %b to i64
  %up = shl i64 %total, 8
  %total.next = add i64 %up, %wide
  %j.next = add i64 %j, 1
  br label %last
compare:
  %same = icmp eq i64 %total, $sum
  br i1 %same, label %right, label %wrong
right:
  ret i32 0
wrong:
  ret i32 $status
}
attributes #0 = { nounwind }
""")


def weights_check_code(name: str, weights: Sequence[Chunk], pointer_bytes: int) -> str:
    """The IR of the check, for weights in pieces and addresses of a size."""
    data = np.frombuffer(b"".join(weights), np.uint8)
    words = data.size // _WORD_BYTES
    return _TEXT.substitute(
        name=name,
        size=f"i{8 * pointer_bytes}",
        bytes=data.size,
        words=words,
        rest=words * _WORD_BYTES,
        sum=weights_sum(data) - (1 << 64 if weights_sum(data) >> 63 else 0),
        status=int(EntryStatus.NO_WEIGHTS),
    )


def weights_sum(data: Array) -> int:
    """The sum of some bytes, as the check computes it."""
    words = data.size // _WORD_BYTES * _WORD_BYTES
    values = data[:words].view(np.uint64)
    total = int(np.add.reduce(values * np.arange(1, 2 * values.size + 1, 2, dtype=np.uint64)))
    for byte in data[words:].tolist():
        total = ((total << 8) + byte) & _MASK
    return total & _MASK
