"""The functions of a shared library that check arrays of tvm-ffi and raise its errors, as LLVM IR."""

from __future__ import annotations

from string import Template

IMPORTS = ("TVMFFIErrorSetRaisedFromCStr", "TVMFFIStringFromByteArray", "malloc", "free")
"""The functions outside that are called where a process has them: of tvm-ffi, and for the workspace."""
IMPORTS_SYMBOL = "stepwell_ffi_imports"
"""The table of their addresses, which the loader of the system writes."""
SHOWN_AXES = 8
"""The most axes of an array that a message shows."""

# Layouts of DLPack 1.0 and of tvm-ffi's c_api.h: TVMFFIAny, DLTensor; a tensor object begins with 24 bytes.
_CHECKS = Template("""
%any = type { i32, i32, i64 }
%tensor = type { ptr, i32, i32, i32, i32, ptr, ptr, i64 }
%row = type { i32, i32, i32, i32 }
@$imports = external hidden constant [$count x ptr]
@stepwell_ffi_type = internal constant [10 x i8] c"TypeError\\00"
@stepwell_ffi_value = internal constant [11 x i8] c"ValueError\\00"
@stepwell_ffi_index = internal constant [19 x i8] c"index-out-of-range\\00"
@stepwell_ffi_index_error = internal constant [11 x i8] c"IndexError\\00"
@stepwell_ffi_here = internal constant [8 x i8] c", here \\00"
@stepwell_ffi_found = internal constant [9 x i8] c", found \\00"
@stepwell_ffi_dense = internal constant [13 x i8] c", contiguous\\00"
@stepwell_ffi_aligned = internal constant [26 x i8] c", aligned to its elements\\00"

define internal i32 @stepwell_ffi_raise(ptr %kind, ptr %message) #0 {
  %raise = load ptr, ptr @$imports
  %none = icmp eq ptr %raise, null
  br i1 %none, label %done, label %call
call:
  call void %raise(ptr %kind, ptr %message)
  br label %done
done:
  ret i32 -1
}

define internal i64 @stepwell_ffi_text(ptr %to, i64 %at, ptr %text) #0 {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %from = getelementptr i8, ptr %text, i64 %i
  %byte = load i8, ptr %from
  %place = add i64 %at, %i
  %goal = getelementptr i8, ptr %to, i64 %place
  store i8 %byte, ptr %goal
  %i.next = add i64 %i, 1
  %more = icmp ne i8 %byte, 0
  br i1 %more, label %next, label %done
done:
  ret i64 %place
}

define internal i64 @stepwell_ffi_number(ptr %to, i64 %at, i64 %n) #0 {
entry:
  %digits = alloca [24 x i8]
  %negative = icmp slt i64 %n, 0
  %minus = sub i64 0, %n
  %size = select i1 %negative, i64 %minus, i64 %n
  %end = getelementptr i8, ptr %digits, i64 23
  store i8 0, ptr %end
  br label %next
next:
  %i = phi i64 [ 22, %entry ], [ %i.next, %next ]
  %rest = phi i64 [ %size, %entry ], [ %rest.next, %next ]
  %rest.next = udiv i64 %rest, 10
  %whole = mul i64 %rest.next, 10
  %digit = sub i64 %rest, %whole
  %code = add i64 %digit, 48
  %byte = trunc i64 %code to i8
  %place = getelementptr i8, ptr %digits, i64 %i
  store i8 %byte, ptr %place
  %i.next = sub i64 %i, 1
  %more = icmp ne i64 %rest.next, 0
  br i1 %more, label %next, label %sign
sign:
  %before = getelementptr i8, ptr %digits, i64 %i.next
  store i8 45, ptr %before
  %first = select i1 %negative, ptr %before, ptr %place
  %done = call i64 @stepwell_ffi_text(ptr %to, i64 %at, ptr %first)
  ret i64 %done
}

define internal i64 @stepwell_ffi_shape(ptr %to, i64 %at, ptr %shape, i32 %rank) #0 {
entry:
  %open = getelementptr i8, ptr %to, i64 %at
  store i8 91, ptr %open
  %begin = add i64 %at, 1
  %shown = call i32 @llvm.smin.i32(i32 %rank, i32 $axes)
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %axis ]
  %p = phi i64 [ %begin, %entry ], [ %p.next, %axis ]
  %more = icmp slt i32 %i, %shown
  br i1 %more, label %comma, label %close
comma:
  %inner = icmp sgt i32 %i, 0
  br i1 %inner, label %separate, label %axis
separate:
  %c = getelementptr i8, ptr %to, i64 %p
  store i8 44, ptr %c
  %c.next = getelementptr i8, ptr %c, i64 1
  store i8 32, ptr %c.next
  %p.after = add i64 %p, 2
  br label %axis
axis:
  %q = phi i64 [ %p, %comma ], [ %p.after, %separate ]
  %place = getelementptr i64, ptr %shape, i32 %i
  %size = load i64, ptr %place
  %p.next = call i64 @stepwell_ffi_number(ptr %to, i64 %q, i64 %size)
  %i.next = add i32 %i, 1
  br label %next
close:
  %last = getelementptr i8, ptr %to, i64 %p
  store i8 93, ptr %last
  %end = add i64 %p, 1
  %zero = getelementptr i8, ptr %to, i64 %end
  store i8 0, ptr %zero
  ret i64 %end
}

; The array of an argument, null for another value.
define internal ptr @stepwell_ffi_tensor(ptr %arg) #0 {
  %type = load i32, ptr %arg
  %value.place = getelementptr %any, ptr %arg, i32 0, i32 2
  %value = load ptr, ptr %value.place
  %object = getelementptr i8, ptr %value, i32 24
  %is.pointer = icmp eq i32 %type, 7
  %is.object = icmp eq i32 %type, 70
  %a = select i1 %is.object, ptr %object, ptr null
  %b = select i1 %is.pointer, ptr %value, ptr %a
  ret ptr %b
}

; Element type, device and rank of each array, whose addresses are stored; 0, or -1 after an error.
define internal i32 @stepwell_ffi_types(
    ptr %args, i32 %count, ptr %rows, ptr %texts, ptr %tensors, ptr %message) #0 {
entry:
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %right ]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %each, label %good
each:
  %row = getelementptr %row, ptr %rows, i32 %i
  %text.place = getelementptr %row, ptr %row, i32 0, i32 3
  %text.offset = load i32, ptr %text.place
  %text = getelementptr i8, ptr %texts, i32 %text.offset
  %at = call i64 @stepwell_ffi_text(ptr %message, i64 0, ptr %text)
  %arg = getelementptr %any, ptr %args, i32 %i
  %tensor = call ptr @stepwell_ffi_tensor(ptr %arg)
  %goal = getelementptr ptr, ptr %tensors, i32 %i
  store ptr %tensor, ptr %goal
  %none = icmp eq ptr %tensor, null
  br i1 %none, label %type, label %device
device:
  %device.place = getelementptr %tensor, ptr %tensor, i32 0, i32 1
  %device.type = load i32, ptr %device.place
  %is.cpu = icmp eq i32 %device.type, 1
  %dtype.place = getelementptr %tensor, ptr %tensor, i32 0, i32 4
  %dtype = load i32, ptr %dtype.place
  %wanted = load i32, ptr %row
  %is.dtype = icmp eq i32 %dtype, %wanted
  %both = and i1 %is.cpu, %is.dtype
  br i1 %both, label %rank, label %type
rank:
  %rank.place = getelementptr %tensor, ptr %tensor, i32 0, i32 3
  %found = load i32, ptr %rank.place
  %axes.place = getelementptr %row, ptr %row, i32 0, i32 1
  %axes = load i32, ptr %axes.place
  %right.rank = icmp eq i32 %found, %axes
  br i1 %right.rank, label %right, label %value
right:
  %i.next = add i32 %i, 1
  br label %next
type:
  %t = call i32 @stepwell_ffi_raise(ptr @stepwell_ffi_type, ptr %message)
  ret i32 %t
value:
  %shape.place = getelementptr %tensor, ptr %tensor, i32 0, i32 5
  %shape = load ptr, ptr %shape.place
  %p = call i64 @stepwell_ffi_text(ptr %message, i64 %at, ptr @stepwell_ffi_found)
  %q = call i64 @stepwell_ffi_shape(ptr %message, i64 %p, ptr %shape, i32 %found)
  %v = call i32 @stepwell_ffi_raise(ptr @stepwell_ffi_value, ptr %message)
  ret i32 %v
good:
  ret i32 0
}

; Whether an array has its elements one after the other; strides of axes of one element are any.
define internal i1 @stepwell_ffi_is_dense(ptr %tensor) #0 {
entry:
  %rank.place = getelementptr %tensor, ptr %tensor, i32 0, i32 3
  %rank = load i32, ptr %rank.place
  %shape.place = getelementptr %tensor, ptr %tensor, i32 0, i32 5
  %shape = load ptr, ptr %shape.place
  %strides.place = getelementptr %tensor, ptr %tensor, i32 0, i32 6
  %strides = load ptr, ptr %strides.place
  %none = icmp eq ptr %strides, null
  br i1 %none, label %good, label %next
next:
  %i = phi i32 [ %rank, %entry ], [ %axis, %each ]
  %size = phi i64 [ 1, %entry ], [ %size.next, %each ]
  %wrong = phi i1 [ false, %entry ], [ %wrong.next, %each ]
  %more = icmp sgt i32 %i, 0
  br i1 %more, label %each, label %done
each:
  %axis = sub i32 %i, 1
  %dim.place = getelementptr i64, ptr %shape, i32 %axis
  %dim = load i64, ptr %dim.place
  %stride.place = getelementptr i64, ptr %strides, i32 %axis
  %stride = load i64, ptr %stride.place
  %many = icmp ne i64 %dim, 1
  %other = icmp ne i64 %stride, %size
  %both = and i1 %many, %other
  %wrong.next = or i1 %wrong, %both
  %size.next = mul i64 %size, %dim
  br label %next
done:
  %empty = icmp eq i64 %size, 0
  %right = xor i1 %wrong, true
  %ok = or i1 %empty, %right
  ret i1 %ok
good:
  ret i1 true
}

; Dimensions, strides and alignment of each array, whose first elements are stored; 0, or -1 after an error.
define internal i32 @stepwell_ffi_shapes(
    ptr %tensors, i32 %count, ptr %rows, ptr %texts, ptr %sizes, ptr %data, ptr %message) #0 {
entry:
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %right ]
  %wanted = phi ptr [ %sizes, %entry ], [ %wanted.next, %right ]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %each, label %good
each:
  %row = getelementptr %row, ptr %rows, i32 %i
  %rank.place = getelementptr %row, ptr %row, i32 0, i32 1
  %rank = load i32, ptr %rank.place
  %bytes.place = getelementptr %row, ptr %row, i32 0, i32 2
  %bytes = load i32, ptr %bytes.place
  %text.place = getelementptr %row, ptr %row, i32 0, i32 3
  %text.offset = load i32, ptr %text.place
  %text = getelementptr i8, ptr %texts, i32 %text.offset
  %at = call i64 @stepwell_ffi_text(ptr %message, i64 0, ptr %text)
  %tensor.place = getelementptr ptr, ptr %tensors, i32 %i
  %tensor = load ptr, ptr %tensor.place
  %shape.place = getelementptr %tensor, ptr %tensor, i32 0, i32 5
  %shape = load ptr, ptr %shape.place
  %wanted.next = getelementptr i64, ptr %wanted, i32 %rank
  br label %dims
dims:
  %d = phi i32 [ 0, %each ], [ %d.next, %dim ]
  %dims.left = icmp slt i32 %d, %rank
  br i1 %dims.left, label %dim, label %dense
dim:
  %a.place = getelementptr i64, ptr %shape, i32 %d
  %a = load i64, ptr %a.place
  %b.place = getelementptr i64, ptr %wanted, i32 %d
  %b = load i64, ptr %b.place
  %d.next = add i32 %d, 1
  %same = icmp eq i64 %a, %b
  br i1 %same, label %dims, label %shapes
dense:
  %is.dense = call i1 @stepwell_ffi_is_dense(ptr %tensor)
  br i1 %is.dense, label %aligned, label %strided
aligned:
  %base = load ptr, ptr %tensor
  %offset.place = getelementptr %tensor, ptr %tensor, i32 0, i32 7
  %offset = load i64, ptr %offset.place
  %first = getelementptr i8, ptr %base, i64 %offset
  %data.place = getelementptr ptr, ptr %data, i32 %i
  store ptr %first, ptr %data.place
  %low = ptrtoint ptr %first to i32
  %mask = sub i32 %bytes, 1
  %part = and i32 %low, %mask
  %whole = icmp eq i32 %part, 0
  br i1 %whole, label %right, label %between
right:
  %i.next = add i32 %i, 1
  br label %next
shapes:
  %s1 = call i64 @stepwell_ffi_text(ptr %message, i64 %at, ptr @stepwell_ffi_here)
  %s2 = call i64 @stepwell_ffi_shape(ptr %message, i64 %s1, ptr %wanted, i32 %rank)
  %s3 = call i64 @stepwell_ffi_text(ptr %message, i64 %s2, ptr @stepwell_ffi_found)
  %s4 = call i64 @stepwell_ffi_shape(ptr %message, i64 %s3, ptr %shape, i32 %rank)
  br label %bad
strided:
  %t1 = call i64 @stepwell_ffi_text(ptr %message, i64 %at, ptr @stepwell_ffi_dense)
  br label %bad
between:
  %u1 = call i64 @stepwell_ffi_text(ptr %message, i64 %at, ptr @stepwell_ffi_aligned)
  br label %bad
bad:
  %v = call i32 @stepwell_ffi_raise(ptr @stepwell_ffi_value, ptr %message)
  ret i32 %v
good:
  ret i32 0
}

; Raise a message of a model: an error of indices, or of values.
define internal i32 @stepwell_ffi_failed(ptr %message) #0 {
entry:
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %same ]
  %code.place = getelementptr i8, ptr @stepwell_ffi_index, i32 %i
  %code = load i8, ptr %code.place
  %whole = icmp eq i8 %code, 0
  br i1 %whole, label %raise, label %compare
compare:
  %place = getelementptr i8, ptr %message, i32 %i
  %byte = load i8, ptr %place
  %equal = icmp eq i8 %byte, %code
  br i1 %equal, label %same, label %raise
same:
  %i.next = add i32 %i, 1
  br label %next
raise:
  %kind = phi ptr [ @stepwell_ffi_index_error, %next ], [ @stepwell_ffi_value, %compare ]
  %r = call i32 @stepwell_ffi_raise(ptr %kind, ptr %message)
  ret i32 %r
}

declare i32 @llvm.smin.i32(i32, i32)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)
attributes #0 = { nounwind noinline minsize optsize }
""")


def checks_code() -> str:
    """The functions that all entries of a library share."""
    return _CHECKS.substitute(axes=SHOWN_AXES, count=len(IMPORTS), imports=IMPORTS_SYMBOL)
