"""
The code that all native functions share, as LLVM IR: objects with counted references, their memory, errors.

    allocate: take a block of the size class's list, else the next bytes of the call's memory
    release:  count - 1; at 0 the object joins a list of dead ones, whose fields are released in turn: no
              recursion, however long a chain is

Counts are not atomic, as an object belongs to one call. What is left at the end of a call, cycles through
cells too, goes with its memory.
"""

from __future__ import annotations

from functools import cache
from string import Template

from stepwell.lowering.vm_to_llvm.values_in_and_out import CALLS
from stepwell.runtime.vm.native_abi import (
    ALIGNED_FROM,
    ARGUMENTS,
    DATA_HEAD_BYTES,
    INNER_FRAMES,
    ITEM_WORDS,
    OUTER_FRAMES,
    STACK_NOW,
    TAG_BITS,
    WORD_BYTES,
    Field,
    Kind,
    size_class,
)

_ERRORS = """
define internal void @vm.trace(ptr %ctx, i64 %site) cold noinline {
entry:
  %frames.slot = getelementptr i64, ptr %ctx, i64 $FRAMES
  %n = load i64, ptr %frames.slot
  %more = add i64 %n, 1
  store i64 %more, ptr %frames.slot
  %is.inner = icmp ult i64 %n, $inner
  br i1 %is.inner, label %inner, label %outer
inner:
  %inner.slot = getelementptr i64, ptr %ctx, i64 $INNER
  %inner.table = load ptr, ptr %inner.slot
  %inner.row = getelementptr i64, ptr %inner.table, i64 %n
  store i64 %site, ptr %inner.row
  br label %outer
outer:
  %outer.slot = getelementptr i64, ptr %ctx, i64 $OUTER
  %outer.table = load ptr, ptr %outer.slot
  %position = urem i64 %n, $outer
  %outer.row = getelementptr i64, ptr %outer.table, i64 %position
  store i64 %site, ptr %outer.row
  %counts.slot = getelementptr i64, ptr %ctx, i64 $COUNTS
  %counts = load ptr, ptr %counts.slot
  %function = lshr i64 %site, 32
  %count.slot = getelementptr i64, ptr %counts, i64 %function
  %count = load i64, ptr %count.slot
  %counted = add i64 %count, 1
  store i64 %counted, ptr %count.slot
  ret void
}

define internal void @vm.fail(ptr %ctx, i64 %failure, i64 %site, i64 %detail) cold noinline {
entry:
  %error = getelementptr i64, ptr %ctx, i64 $ERROR
  store i64 %failure, ptr %error
  %place = getelementptr i64, ptr %ctx, i64 $SITE
  store i64 %site, ptr %place
  %more = getelementptr i64, ptr %ctx, i64 $DETAIL
  store i64 %detail, ptr %more
  call void @vm.trace(ptr %ctx, i64 %site)
  ret void
}
"""

_MEMORY = """
define internal ptr @vm.next(ptr %ctx, i64 %bytes) noinline {
entry:
  %bump.slot = getelementptr i64, ptr %ctx, i64 $BUMP
  %end.slot = getelementptr i64, ptr %ctx, i64 $BUMP_END
  %is.large = icmp uge i64 %bytes, $aligned_from
  %gap = select i1 %is.large, i64 63, i64 0
  %mask = xor i64 %gap, -1
  br label %try
try:
  %bump = load i64, ptr %bump.slot
  %above = add i64 %bump, %gap
  %start = and i64 %above, %mask
  %end = add i64 %start, %bytes
  %limit = load i64, ptr %end.slot
  %fits = icmp ule i64 %end, %limit
  br i1 %fits, label %take, label %refill
take:
  store i64 %end, ptr %bump.slot
  %block = inttoptr i64 %start to ptr
  ret ptr %block
refill:
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %now = ptrtoint ptr %frame to i64
  %now.slot = getelementptr i64, ptr %ctx, i64 $stack_now
  store i64 %now, ptr %now.slot
  %allocate.slot = getelementptr i64, ptr %ctx, i64 $ALLOCATE
  %allocate = load ptr, ptr %allocate.slot
  %is.there = call i64 %allocate(ptr %ctx, i64 %bytes)
  %none = icmp eq i64 %is.there, 0
  br i1 %none, label %fail, label %try
fail:
  ret ptr null
}

define internal ptr @vm.allocate(ptr %ctx, i64 %class, i64 %bytes) alwaysinline {
entry:
  %lists = getelementptr i64, ptr %ctx, i64 $FREE
  %slot = getelementptr i64, ptr %lists, i64 %class
  %head = load ptr, ptr %slot
  %none = icmp eq ptr %head, null
  br i1 %none, label %new, label %reuse
reuse:
  %rest = load ptr, ptr %head
  store ptr %rest, ptr %slot
  ret ptr %head
new:
  %made = call ptr @vm.next(ptr %ctx, i64 %bytes)
  ret ptr %made
}

define internal void @vm.retain(ptr %object) alwaysinline {
entry:
  %count = load i32, ptr %object
  %more = add i32 %count, 1
  store i32 %more, ptr %object
  ret void
}

define internal void @vm.release(ptr %ctx, ptr %object) alwaysinline {
entry:
  %count = load i32, ptr %object
  %less = sub i32 %count, 1
  store i32 %less, ptr %object
  %is.dead = icmp eq i32 %less, 0
  br i1 %is.dead, label %dead, label %done
dead:
  call void @vm.free(ptr %ctx, ptr %object)
  br label %done
done:
  ret void
}

define internal void @vm.free(ptr %ctx, ptr %first) noinline {
entry:
  %lists = getelementptr i64, ptr %ctx, i64 $FREE
  br label %object
object:
  %dead = phi ptr [ %first, %entry ], [ %head, %next ]
  %waiting = phi ptr [ null, %entry ], [ %rest, %next ]
  %fields.slot = getelementptr i32, ptr %dead, i64 2
  %fields32 = load i32, ptr %fields.slot
  %fields = zext i32 %fields32 to i64
  %kind.slot = getelementptr i32, ptr %dead, i64 3
  %kind.class = load i32, ptr %kind.slot
  %kind = and i32 %kind.class, 255
  %class32 = lshr i32 %kind.class, 8
  %class = zext i32 %class32 to i64
  %is.closure = icmp eq i32 %kind, $CLOSURE
  %offset = select i1 %is.closure, i64 3, i64 2
  %base = getelementptr i64, ptr %dead, i64 %offset
  br label %fields.head
fields.head:
  %i = phi i64 [ 0, %object ], [ %i.next, %fields.next ]
  %list = phi ptr [ %waiting, %object ], [ %list.next, %fields.next ]
  %more = icmp ult i64 %i, %fields
  br i1 %more, label %field, label %put
field:
  %field.slot = getelementptr ptr, ptr %base, i64 %i
  %value = load ptr, ptr %field.slot
  %count = load i32, ptr %value
  %less = sub i32 %count, 1
  store i32 %less, ptr %value
  %dies = icmp eq i32 %less, 0
  br i1 %dies, label %link, label %fields.next
link:
  store ptr %list, ptr %value
  br label %fields.next
fields.next:
  %list.next = phi ptr [ %list, %field ], [ %value, %link ]
  %i.next = add i64 %i, 1
  br label %fields.head
put:
  %slot = getelementptr ptr, ptr %lists, i64 %class
  %free = load ptr, ptr %slot
  store ptr %free, ptr %dead
  store ptr %dead, ptr %slot
  %none = icmp eq ptr %list, null
  br i1 %none, label %done, label %next
next:
  %head = phi ptr [ %list, %put ]
  %rest = load ptr, ptr %list
  br label %object
done:
  ret void
}
"""

_ACCESS = """
define internal i1 @vm.is_kind(ptr %object, i32 %kind) alwaysinline {
entry:
  %slot = getelementptr i32, ptr %object, i64 3
  %kind.class = load i32, ptr %slot
  %found = and i32 %kind.class, 255
  %same = icmp eq i32 %found, %kind
  ret i1 %same
}

define internal i1 @vm.is_of_type(ptr %object, ptr %type) alwaysinline {
entry:
  %is.tensor = call i1 @vm.is_kind(ptr %object, i32 $TENSOR)
  br i1 %is.tensor, label %compare, label %other
compare:
  %found.slot = getelementptr ptr, ptr %object, i64 3
  %found = load ptr, ptr %found.slot
  %same = icmp eq ptr %found, %type
  ret i1 %same
other:
  ret i1 false
}

define internal i1 @vm.has_type(ptr %ctx, ptr %object, i64 %type) alwaysinline {
entry:
  %types.slot = getelementptr i64, ptr %ctx, i64 $TYPES
  %types = load ptr, ptr %types.slot
  %wanted.slot = getelementptr ptr, ptr %types, i64 %type
  %wanted = load ptr, ptr %wanted.slot
  %same = call i1 @vm.is_of_type(ptr %object, ptr %wanted)
  ret i1 %same
}

define internal ptr @vm.elements(ptr %object) alwaysinline {
entry:
  %slot = getelementptr ptr, ptr %object, i64 2
  %elements = load ptr, ptr %slot
  ret ptr %elements
}

define internal ptr @vm.field(ptr %object, i64 %index) alwaysinline {
entry:
  %is.data = call i1 @vm.is_kind(ptr %object, i32 $DATA)
  %fields.slot = getelementptr i32, ptr %object, i64 2
  %fields32 = load i32, ptr %fields.slot
  %fields = zext i32 %fields32 to i64
  %is.inside = icmp ult i64 %index, %fields
  %is.good = and i1 %is.data, %is.inside
  br i1 %is.good, label %read, label %fail
read:
  %base = getelementptr i64, ptr %object, i64 2
  %slot = getelementptr ptr, ptr %base, i64 %index
  %value = load ptr, ptr %slot
  call void @vm.retain(ptr %value)
  ret ptr %value
fail:
  ret ptr null
}

define internal i64 @vm.tag(ptr %object) alwaysinline {
entry:
  %is.data = call i1 @vm.is_kind(ptr %object, i32 $DATA)
  %slot = getelementptr i32, ptr %object, i64 1
  %tag32 = load i32, ptr %slot
  %low = and i32 %tag32, $tag_mask
  %tag = zext i32 %low to i64
  %result = select i1 %is.data, i64 %tag, i64 -1
  ret i64 %result
}

define internal void @vm.head(ptr %object, i32 %tag, i32 %fields, i32 %kind) alwaysinline {
entry:
  store i32 1, ptr %object
  %tag.slot = getelementptr i32, ptr %object, i64 1
  store i32 %tag, ptr %tag.slot
  %fields.slot = getelementptr i32, ptr %object, i64 2
  store i32 %fields, ptr %fields.slot
  %kind.slot = getelementptr i32, ptr %object, i64 3
  store i32 %kind, ptr %kind.slot
  ret void
}

define internal ptr @vm.tensor(ptr %ctx, i64 %type, i64 %class, i64 %bytes, i64 %offset) alwaysinline {
entry:
  %object = call ptr @vm.allocate(ptr %ctx, i64 %class, i64 %bytes)
  %none = icmp eq ptr %object, null
  br i1 %none, label %fail, label %fill
fill:
  %class32 = trunc i64 %class to i32
  %shifted = shl i32 %class32, 8
  %kind = or i32 %shifted, $TENSOR
  call void @vm.head(ptr %object, i32 0, i32 0, i32 %kind)
  %elements = getelementptr i8, ptr %object, i64 %offset
  %elements.slot = getelementptr ptr, ptr %object, i64 2
  store ptr %elements, ptr %elements.slot
  %types.slot = getelementptr i64, ptr %ctx, i64 $TYPES
  %types = load ptr, ptr %types.slot
  %from = getelementptr ptr, ptr %types, i64 %type
  %found = load ptr, ptr %from
  %to = getelementptr ptr, ptr %object, i64 3
  store ptr %found, ptr %to
  ret ptr %object
fail:
  ret ptr null
}
"""


@cache
def shared_code() -> str:
    """The functions as LLVM IR text."""
    tensor_class, tensor_bytes = size_class(DATA_HEAD_BYTES + 2 * WORD_BYTES)
    loads = "".join(
        f"  %a{n}.slot = getelementptr ptr, ptr %arguments, i64 {n}\n  %a{n} = load ptr, ptr %a{n}.slot\n"
        for n in range(ARGUMENTS)
    )
    words = {field.name: int(field) for field in (*Field, *Kind)}
    return Template(_ERRORS + _MEMORY + _ACCESS + CALLS).substitute(
        words,
        inner=INNER_FRAMES,
        outer=OUTER_FRAMES,
        stack_now=STACK_NOW,
        aligned_from=ALIGNED_FROM,
        arguments=ARGUMENTS,
        loads=loads,
        passed=", ".join(f"ptr %a{n}" for n in range(ARGUMENTS)),
        item_words=ITEM_WORDS,
        tensor_class=tensor_class,
        tensor_bytes=tensor_bytes,
        tensor_kind=Kind.TENSOR | tensor_class << 8,
        tag_mask=(1 << TAG_BITS) - 1,
    )
