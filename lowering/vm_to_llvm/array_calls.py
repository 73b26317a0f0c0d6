"""The call of a segment on arrays of Python as LLVM IR, for the machine: checks, then element addresses."""

from stepwell.runtime.vm.array_calls import (
    ARRAY_DATA,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_RANK,
    ARRAY_TYPE,
    HEAD_WORDS,
    INPUT_FLAGS,
    OBJECT_CLASS,
    OUTPUT_FLAGS,
    SYMBOL,
    TUPLE_ITEMS,
    UNFIT,
)

ARRAY_CALL = f"""
define i32 @{SYMBOL}(ptr %plan, ptr %values) {{
entry:
  %items = getelementptr i8, ptr %values, i64 {TUPLE_ITEMS}
  %main = load ptr, ptr %plan
  %args.slot = getelementptr i64, ptr %plan, i64 1
  %args = load ptr, ptr %args.slot
  %dims.slot = getelementptr i64, ptr %plan, i64 2
  %dims = load ptr, ptr %dims.slot
  %ctx.slot = getelementptr i64, ptr %plan, i64 3
  %ctx = load ptr, ptr %ctx.slot
  %inputs.slot = getelementptr i64, ptr %plan, i64 4
  %inputs = load i64, ptr %inputs.slot
  %count.slot = getelementptr i64, ptr %plan, i64 5
  %count = load i64, ptr %count.slot
  %class.slot = getelementptr i64, ptr %plan, i64 6
  %class = load i64, ptr %class.slot
  %first = getelementptr i64, ptr %plan, i64 {HEAD_WORDS}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %take ]
  %row = phi ptr [ %first, %entry ], [ %row.after, %take ]
  %is.over = icmp eq i64 %i, %count
  br i1 %is.over, label %call, label %value
value:
  %item = getelementptr ptr, ptr %items, i64 %i
  %object = load ptr, ptr %item
  %is.input = icmp ult i64 %i, %inputs
  %flags.wanted = select i1 %is.input, i32 {INPUT_FLAGS}, i32 {OUTPUT_FLAGS}
  %found.class.slot = getelementptr i8, ptr %object, i64 {OBJECT_CLASS}
  %found.class = load i64, ptr %found.class.slot
  %same.class = icmp eq i64 %found.class, %class
  br i1 %same.class, label %type, label %unfit
type:
  %type.wanted = load i64, ptr %row
  %type.slot = getelementptr i8, ptr %object, i64 {ARRAY_TYPE}
  %type.found = load i64, ptr %type.slot
  %same.type = icmp eq i64 %type.found, %type.wanted
  %flags.slot = getelementptr i8, ptr %object, i64 {ARRAY_FLAGS}
  %flags = load i32, ptr %flags.slot
  %flags.found = and i32 %flags, %flags.wanted
  %same.flags = icmp eq i32 %flags.found, %flags.wanted
  %rank.wanted.slot = getelementptr i64, ptr %row, i64 1
  %rank.wanted = load i64, ptr %rank.wanted.slot
  %rank.slot = getelementptr i8, ptr %object, i64 {ARRAY_RANK}
  %rank.found = load i32, ptr %rank.slot
  %rank = sext i32 %rank.found to i64
  %same.rank = icmp eq i64 %rank, %rank.wanted
  %type.and.flags = and i1 %same.type, %same.flags
  %is.good = and i1 %type.and.flags, %same.rank
  br i1 %is.good, label %sizes, label %unfit
sizes:
  %sizes.slot = getelementptr i8, ptr %object, i64 {ARRAY_DIMS}
  %sizes.found = load ptr, ptr %sizes.slot
  %sizes.wanted = getelementptr i64, ptr %row, i64 2
  %row.after = getelementptr i64, ptr %sizes.wanted, i64 %rank
  br label %size
size:
  %d = phi i64 [ 0, %sizes ], [ %d.next, %compare ]
  %is.last = icmp eq i64 %d, %rank
  br i1 %is.last, label %take, label %compare
compare:
  %found.slot = getelementptr i64, ptr %sizes.found, i64 %d
  %found = load i64, ptr %found.slot
  %wanted.slot = getelementptr i64, ptr %sizes.wanted, i64 %d
  %wanted = load i64, ptr %wanted.slot
  %d.next = add i64 %d, 1
  %same.size = icmp eq i64 %found, %wanted
  br i1 %same.size, label %size, label %unfit
take:
  %data.slot = getelementptr i8, ptr %object, i64 {ARRAY_DATA}
  %data = load ptr, ptr %data.slot
  %arg = getelementptr ptr, ptr %args, i64 %i
  store ptr %data, ptr %arg
  %i.next = add i64 %i, 1
  br label %head
call:
  %status = call i32 %main(ptr %args, ptr %dims, ptr %ctx)
  ret i32 %status
unfit:
  ret i32 {UNFIT}
}}
"""
