"""
The code that all programs share for calls from Python, as LLVM IR: arguments in, the run, the result out.

Both directions keep what is still to be done in memory of the caller's, without recursion.
"""

CALLS = """
declare ptr @llvm.frameaddress.p0(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptr @vm.run(ptr %ctx, i64 %function, ptr %arguments, i64 %extra) {
entry:
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %bytes.slot = getelementptr i64, ptr %ctx, i64 $STACK_BYTES
  %bytes = load i64, ptr %bytes.slot
  %lowest = sub i64 %here, %bytes
  %unchecked = icmp eq i64 %bytes, 0
  %limit = select i1 %unchecked, i64 0, i64 %lowest
  %limit.slot = getelementptr i64, ptr %ctx, i64 $STACK_LIMIT
  store i64 %limit, ptr %limit.slot
  %entries.slot = getelementptr i64, ptr %ctx, i64 $ENTRIES
  %entries = load ptr, ptr %entries.slot
  %code.slot = getelementptr ptr, ptr %entries, i64 %function
  %code = load ptr, ptr %code.slot
$loads  %rest = getelementptr ptr, ptr %arguments, i64 $arguments
  %extra.slot = getelementptr i64, ptr %ctx, i64 $EXTRA
  %to = load ptr, ptr %extra.slot
  %extra.bytes = mul i64 %extra, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %rest, i64 %extra.bytes, i1 false)
  %result = call ptr %code(ptr %ctx, $passed)
  ret ptr %result
}

define ptr @vm.make_tensor(ptr %ctx, ptr %type, i64 %class, i64 %bytes, i64 %offset) {
entry:
  %object = call ptr @vm.tensor(ptr %ctx, i64 0, i64 %class, i64 %bytes, i64 %offset)
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %fill
fill:
  %slot = getelementptr ptr, ptr %object, i64 3
  store ptr %type, ptr %slot
  br label %done
done:
  ret ptr %object
}

; Items, from the last one to the first, as objects on a stack of values.
define i64 @vm.enter(ptr %ctx, ptr %items, i64 %count, ptr %stack) {
entry:
  br label %head
head:
  %left = phi i64 [ %count, %entry ], [ %index, %made ]
  %top = phi i64 [ 0, %entry ], [ %top.next, %made ]
  %is.over = icmp eq i64 %left, 0
  br i1 %is.over, label %done, label %item
item:
  %index = sub i64 %left, 1
  %position = mul i64 %index, $item_words
  %words = getelementptr i64, ptr %items, i64 %position
  %first = load i64, ptr %words
  %second.slot = getelementptr i64, ptr %words, i64 1
  %second = load i64, ptr %second.slot
  %third.slot = getelementptr i64, ptr %words, i64 2
  %third = load i64, ptr %third.slot
  %kind = and i64 %first, 255
  %fields = lshr i64 %first, 8
  %is.tensor = icmp eq i64 %kind, $TENSOR
  br i1 %is.tensor, label %tensor, label %other
other:
  %is.entered = icmp eq i64 %kind, $ENTERED
  br i1 %is.entered, label %entered, label %data
entered:
  %given = inttoptr i64 %second to ptr
  br label %made
tensor:
  %leaf = call ptr @vm.allocate(ptr %ctx, i64 $tensor_class, i64 $tensor_bytes)
  %leaf.none = icmp eq ptr %leaf, null
  br i1 %leaf.none, label %fail, label %tensor.fill
tensor.fill:
  call void @vm.head(ptr %leaf, i32 0, i32 0, i32 $tensor_kind)
  %elements.slot = getelementptr i64, ptr %leaf, i64 2
  store i64 %second, ptr %elements.slot
  %type.slot = getelementptr i64, ptr %leaf, i64 3
  store i64 %third, ptr %type.slot
  br label %made
data:
  ; The size class and bytes of the object, and how many words are before its fields.
  %class = and i64 %third, 255
  %bytes = lshr i64 %third, 8
  %object = call ptr @vm.allocate(ptr %ctx, i64 %class, i64 %bytes)
  %none = icmp eq ptr %object, null
  br i1 %none, label %fail, label %fill
fill:
  %tag32 = trunc i64 %second to i32
  %fields32 = trunc i64 %fields to i32
  %class.shifted = shl i64 %class, 8
  %kind.class = or i64 %kind, %class.shifted
  %kind32 = trunc i64 %kind.class to i32
  call void @vm.head(ptr %object, i32 %tag32, i32 %fields32, i32 %kind32)
  %is.closure = icmp eq i64 %kind, $CLOSURE
  br i1 %is.closure, label %closure, label %copy
closure:
  %thunks.slot = getelementptr i64, ptr %ctx, i64 $THUNKS
  %thunks = load ptr, ptr %thunks.slot
  %number = and i64 %second, 65535
  %thunk.slot = getelementptr ptr, ptr %thunks, i64 %number
  %thunk = load ptr, ptr %thunk.slot
  %code.slot = getelementptr ptr, ptr %object, i64 2
  store ptr %thunk, ptr %code.slot
  br label %copy
copy:
  %offset = phi i64 [ 2, %fill ], [ 3, %closure ]
  %base = getelementptr ptr, ptr %object, i64 %offset
  %below = sub i64 %top, %fields
  %from = getelementptr ptr, ptr %stack, i64 %below
  %field.bytes = mul i64 %fields, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %base, ptr %from, i64 %field.bytes, i1 false)
  br label %made
made:
  %value = phi ptr [ %leaf, %tensor.fill ], [ %object, %copy ], [ %given, %entered ]
  %under = phi i64 [ %top, %tensor.fill ], [ %below, %copy ], [ %top, %entered ]
  %slot = getelementptr ptr, ptr %stack, i64 %under
  store ptr %value, ptr %slot
  %top.next = add i64 %under, 1
  br label %head
done:
  ret i64 1
fail:
  ret i64 0
}

; A value as items, each before its fields; objects still to be written are a stack at the end of the memory.
; Returns the number of items, or -1 when the memory does not suffice, -2 for a cell.
define i64 @vm.leave(ptr %root, ptr %items, i64 %capacity) {
entry:
  %small = icmp ult i64 %capacity, 8
  br i1 %small, label %full, label %begin
begin:
  %last = sub i64 %capacity, 1
  %root.slot = getelementptr ptr, ptr %items, i64 %last
  store ptr %root, ptr %root.slot
  br label %head
head:
  %stack = phi i64 [ %last, %begin ], [ %stack.next, %next ]
  %count = phi i64 [ 0, %begin ], [ %count.next, %next ]
  %is.over = icmp eq i64 %stack, %capacity
  br i1 %is.over, label %done, label %item
item:
  %slot = getelementptr ptr, ptr %items, i64 %stack
  %object = load ptr, ptr %slot
  %rest = add i64 %stack, 1
  %tag.slot = getelementptr i32, ptr %object, i64 1
  %tag32 = load i32, ptr %tag.slot
  %tag = zext i32 %tag32 to i64
  %fields.slot = getelementptr i32, ptr %object, i64 2
  %fields32 = load i32, ptr %fields.slot
  %fields = zext i32 %fields32 to i64
  %kind.slot = getelementptr i32, ptr %object, i64 3
  %kind.class = load i32, ptr %kind.slot
  %kind32 = and i32 %kind.class, 255
  %kind = zext i32 %kind32 to i64
  %count.next = add i64 %count, 1
  %used = mul i64 %count.next, $item_words
  %reserved = add i64 %used, %fields
  %fits = icmp ule i64 %reserved, %rest
  br i1 %fits, label %write, label %full
write:
  %shifted = shl i64 %fields, 8
  %first = or i64 %kind, %shifted
  %position = mul i64 %count, $item_words
  %words = getelementptr i64, ptr %items, i64 %position
  store i64 %first, ptr %words
  %second.slot = getelementptr i64, ptr %words, i64 1
  %third.slot = getelementptr i64, ptr %words, i64 2
  %is.tensor = icmp eq i64 %kind, $TENSOR
  br i1 %is.tensor, label %tensor, label %other
tensor:
  %elements.slot = getelementptr i64, ptr %object, i64 2
  %elements = load i64, ptr %elements.slot
  store i64 %elements, ptr %second.slot
  %type.slot = getelementptr i64, ptr %object, i64 3
  %type = load i64, ptr %type.slot
  store i64 %type, ptr %third.slot
  br label %next
other:
  store i64 %tag, ptr %second.slot
  %is.cell = icmp eq i64 %kind, $CELL
  br i1 %is.cell, label %cell, label %push
push:
  %is.closure = icmp eq i64 %kind, $CLOSURE
  %offset = select i1 %is.closure, i64 3, i64 2
  %base = getelementptr ptr, ptr %object, i64 %offset
  %under = sub i64 %rest, %fields
  %to = getelementptr ptr, ptr %items, i64 %under
  %bytes = mul i64 %fields, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %base, i64 %bytes, i1 false)
  br label %next
next:
  %stack.next = phi i64 [ %rest, %tensor ], [ %under, %push ]
  br label %head
done:
  ret i64 %count
full:
  ret i64 -1
cell:
  ret i64 -2
}
"""
