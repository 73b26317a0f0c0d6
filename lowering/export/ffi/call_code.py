"""The functions `__tvm_ffi_NAME` and `__tvm_ffi_NAME_info` of a shared library, as LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from string import Template
from typing import NamedTuple

from stepwell.lowering.export.ffi.checks_code import IMPORTS, IMPORTS_SYMBOL, SHOWN_AXES, checks_code
from stepwell.lowering.export.names import caller_symbols
from stepwell.runtime.abi import ARENA_ALIGNMENT, CallField, EntryStatus
from stepwell.runtime.image import Entry
from stepwell.runtime.integers.expression_text import Algebra
from stepwell.runtime.interface import TensorSpec

_PREFIX = "__tvm_ffi_"
# DLDataTypeCode of DLPack 1.0: the low byte; then the bits of an element, and one lane.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_BFLOAT = 4
_NUMBER_BYTES = 22
"""A size of 64 bits with a comma and a space."""
_WORDS_BYTES = len(", here [], found []") + len(", aligned to its elements") + 1
_RAISE, _STRING, _ALLOCATE, _FREE = range(len(IMPORTS))


class FfiEntry(NamedTuple):
    """A function of a model for other languages."""

    name: str
    """The name with which its functions in C begin."""
    entry: Entry
    json_bytes: int
    """The length of its description."""


def ffi_functions(name: str) -> tuple[str, str]:
    """The link names of a model's function and of its description."""
    return f"{_PREFIX}{name}", f"{_PREFIX}{name}_info"


def is_function(entry: Entry) -> bool:
    """Whether a model is a function of arrays alone, whose outputs the caller allocates."""
    interface = entry.interface
    specs = (*interface.inputs, *interface.outputs)
    needs_more = interface.published or interface.states or entry.callees or entry.pools
    return not needs_more and all(_dtype(spec) is not None for spec in specs)


def _dtype(spec: TensorSpec) -> int | None:
    """The element type as DLPack has it; None where it has none."""
    if spec.is_object:
        return None
    code = _BFLOAT if spec.dtype.name == "bfloat16" else _CODES.get(spec.dtype.kind)
    return None if code is None else code | 8 * spec.dtype.itemsize << 8 | 1 << 16


_ENTRY = Template("""
@${name}_ffi_rows = internal constant [$count x %row] [$rows]
@${name}_ffi_texts = internal constant [$text_bytes x i8] c"$texts"
declare hidden ptr @${name}_json()
declare hidden i32 @${name}_run($run_types)
declare hidden i64 @${name}_workspace_bytes($dims_types)
declare hidden ptr @${name}_message(i32)

define i32 @__tvm_ffi_${name}(ptr %self, ptr %args, i32 %n, ptr %result) #0 {
entry:
  %message = alloca [$message_bytes x i8]
  %tensors = alloca [$count x ptr]
  %data = alloca [$count x ptr]
  %sizes = alloca [$sizes_count x i64]
  %dims = alloca [$dims_count x i64]
  %call = alloca [$call_bytes x i8], align 8
  %right.count = icmp eq i32 %n, $count
  br i1 %right.count, label %types, label %wrong.count
types:
  %types.status = call i32 @stepwell_ffi_types(
    ptr %args, i32 $count, ptr @${name}_ffi_rows, ptr @${name}_ffi_texts, ptr %tensors, ptr %message)
  %types.good = icmp eq i32 %types.status, 0
  br i1 %types.good, label %shapes, label %raised
shapes:
$shapes
  %shapes.status = call i32 @stepwell_ffi_shapes(
    ptr %tensors, i32 $count, ptr @${name}_ffi_rows, ptr @${name}_ffi_texts, ptr %sizes, ptr %data,
    ptr %message)
  %shapes.good = icmp eq i32 %shapes.status, 0
  br i1 %shapes.good, label %workspace, label %raised
workspace:
  %bytes = call i64 @${name}_workspace_bytes($dims_value)
  %bytes.bad = icmp slt i64 %bytes, 0
  br i1 %bytes.bad, label %no.sizes, label %allocate
allocate:
  %padded = add i64 %bytes, $alignment
  %padded.pointer = inttoptr i64 %padded to ptr
  %padded.bytes = ptrtoint ptr %padded.pointer to $size
  %allocate.place = getelementptr ptr, ptr @$imports, i32 $allocate
  %allocate.function = load ptr, ptr %allocate.place
  %no.allocate = icmp eq ptr %allocate.function, null
  br i1 %no.allocate, label %no.memory, label %allocated
allocated:
  %memory = call ptr %allocate.function($size %padded.bytes)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %no.memory, label %run
run:
  %address = ptrtoint ptr %memory to $size
  %up = add $size %address, $mask
  %aligned = and $size %up, -$alignment
  %space = inttoptr $size %aligned to ptr
  call void @llvm.memset.p0.i32(ptr %call, i8 0, i32 $call_bytes, i1 false)
  %space.place = getelementptr i8, ptr %call, i32 $workspace
  store ptr %space, ptr %space.place
  %bytes.place = getelementptr i8, ptr %call, i32 $workspace_bytes
  %bytes.pointer = inttoptr i64 %bytes to ptr
  %space.bytes = ptrtoint ptr %bytes.pointer to $size
  store $size %space.bytes, ptr %bytes.place
  %outputs = getelementptr ptr, ptr %data, i32 $inputs
  %status = call i32 @${name}_run(ptr %data, ptr %outputs, $dims_argument ptr %call)
  %free.place = getelementptr ptr, ptr @$imports, i32 $free
  %free.function = load ptr, ptr %free.place
  call void %free.function(ptr %memory)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %done, label %failed
done:
  ret i32 0
wrong.count:
  %c = call i32 @stepwell_ffi_raise(ptr @stepwell_ffi_type, ptr @${name}_ffi_texts)
  ret i32 %c
no.sizes:
  %size.low = trunc i64 %bytes to i32
  br label %failed
no.memory:
  br label %failed
failed:
  %why = phi i32 [ %status, %run ], [ %size.low, %no.sizes ], [ $no_memory, %no.memory ]
  %text = call ptr @${name}_message(i32 %why)
  %f = call i32 @stepwell_ffi_failed(ptr %text)
  ret i32 %f
raised:
  ret i32 -1
}

define i32 @__tvm_ffi_${name}_info(ptr %self, ptr %args, i32 %n, ptr %result) #0 {
  %bytes = alloca { ptr, $size }
  %json = call ptr @${name}_json()
  store ptr %json, ptr %bytes
  %length = getelementptr { ptr, $size }, ptr %bytes, i32 0, i32 1
  store $size $json_length, ptr %length
  %place = getelementptr ptr, ptr @$imports, i32 $string
  %function = load ptr, ptr %place
  %none = icmp eq ptr %function, null
  br i1 %none, label %missing, label %call
call:
  %status = call i32 %function(ptr %bytes, ptr %result)
  ret i32 %status
missing:
  ret i32 -1
}
""")


def ffi_code(entries: Sequence[FfiEntry], pointer_bytes: int) -> str:
    """The functions of a library's models, for addresses of a size."""
    return "".join([checks_code(), *(_entry_code(each, pointer_bytes) for each in entries)])


def _entry_code(function: FfiEntry, pointer_bytes: int) -> str:
    interface, symbols = function.entry.interface, caller_symbols(function.entry)
    specs = (*interface.inputs, *interface.outputs)
    texts = _texts(function.entry)
    rows = ", ".join(
        _row(spec, offset) for spec, offset in zip(specs, _offsets(texts[1:], texts[0]), strict=True)
    )
    data = b"".join(texts)
    rank = min(max(len(spec.dims) for spec in specs), SHOWN_AXES)
    dims = ["ptr"] if symbols else []
    size = f"i{8 * pointer_bytes}"
    return _ENTRY.substitute(
        name=function.name,
        count=len(specs),
        inputs=len(interface.inputs),
        rows=rows,
        text_bytes=len(data),
        texts=_escaped(data),
        json_length=function.json_bytes,
        run_types=", ".join(["ptr", "ptr", *dims, "ptr"]),
        dims_types=", ".join(dims),
        dims_value="ptr %dims" if symbols else "",
        dims_argument="ptr %dims, " if symbols else "",
        message_bytes=max(map(len, texts)) + _WORDS_BYTES + 2 * _NUMBER_BYTES * rank,
        sizes_count=max(1, sum(len(spec.dims) for spec in specs)),
        dims_count=max(1, len(symbols)),
        call_bytes=CallField.WEIGHTS.offset(pointer_bytes) + pointer_bytes,
        shapes="\n".join(_shapes_code(specs, len(interface.inputs), symbols)),
        alignment=ARENA_ALIGNMENT,
        mask=ARENA_ALIGNMENT - 1,
        size=size,
        imports=IMPORTS_SYMBOL,
        allocate=_ALLOCATE,
        free=_FREE,
        string=_STRING,
        workspace=CallField.WORKSPACE.offset(pointer_bytes),
        workspace_bytes=CallField.WORKSPACE_BYTES.offset(pointer_bytes),
        no_memory=int(EntryStatus.NO_MEMORY),
    )


def _texts(entry: Entry) -> list[bytes]:
    """The message for a wrong number of arrays, and the begin of those about each array."""
    inputs, outputs = entry.interface.inputs, entry.interface.outputs
    kinds = [("input", spec) for spec in inputs] + [("output", spec) for spec in outputs]
    texts = [f"expected {len(inputs)} inputs and {len(outputs)} outputs"]
    texts += [f"{kind} {spec.name!r} must be {spec} on the CPU" for kind, spec in kinds]
    return [text.encode() + b"\0" for text in texts]


def _offsets(texts: Sequence[bytes], first: bytes) -> list[int]:
    """The offset of each text after the first one."""
    return list(accumulate((len(text) for text in texts[:-1]), initial=len(first)))


def _row(spec: TensorSpec, offset: int) -> str:
    """Element type, rank, alignment and text of an array, for the checks."""
    fields = (_dtype(spec), len(spec.dims), spec.dtype.itemsize, offset)
    return f"%row {{ {', '.join(f'i32 {field}' for field in fields)} }}"


def _escaped(data: bytes) -> str:
    """Bytes as a string of LLVM's IR."""
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02x}" for b in data)


def _shapes_code(specs: Sequence[TensorSpec], inputs: int, symbols: Sequence[str]) -> list[str]:
    """Code that loads symbols from the shapes of inputs, and stores the sizes that arrays must have."""
    lines = list[str]()
    values: dict[str, str] = {}
    for number, symbol in enumerate(symbols):
        array, axis = _place_of(symbol, specs[:inputs])
        at = f"%dim{number}"
        lines += [
            f"  {at}.tensor.place = getelementptr ptr, ptr %tensors, i32 {array}",
            f"  {at}.tensor = load ptr, ptr {at}.tensor.place",
            f"  {at}.shape.place = getelementptr %tensor, ptr {at}.tensor, i32 0, i32 5",
            f"  {at}.shape = load ptr, ptr {at}.shape.place",
            f"  {at}.size.place = getelementptr i64, ptr {at}.shape, i32 {axis}",
            f"  {at} = load i64, ptr {at}.size.place",
            f"  {at}.place = getelementptr i64, ptr %dims, i32 {number}",
            f"  store i64 {at}, ptr {at}.place",
        ]
        values[symbol] = at
    algebra = _TextAlgebra(lines)
    for number, dim in enumerate(dim for spec in specs for dim in spec.dims):
        value = dim.build(values.__getitem__, algebra.algebra)
        lines.append(f"  %size{number}.place = getelementptr i64, ptr %sizes, i32 {number}")
        lines.append(f"  store i64 {value}, ptr %size{number}.place")
    return lines


def _place_of(symbol: str, inputs: Sequence[TensorSpec]) -> tuple[int, int]:
    """The first input with a symbol, and its axis there."""
    places = ((i, axis, str(dim)) for i, spec in enumerate(inputs) for axis, dim in enumerate(spec.dims))
    return next((i, axis) for i, axis, text in places if text == symbol)


class _TextAlgebra:
    """Expressions of sizes as lines of LLVM IR; sizes are not negative, divisors constants."""

    def __init__(self, lines: list[str]):
        self._lines, self._count = lines, 0
        self.algebra = Algebra[str](
            number=str,
            add=lambda a, b: self._value(f"add i64 {a}, {b}"),
            multiply=lambda a, b: self._value(f"mul i64 {a}, {b}"),
            floordiv=self._floordiv,
            ceildiv=lambda a, b: self._negated(self._floordiv(self._negated(a), b)),
            minimum=lambda a, b: self._value(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})"),
            maximum=lambda a, b: self._value(f"call i64 @llvm.smax.i64(i64 {a}, i64 {b})"),
        )

    def _value(self, code: str) -> str:
        self._count += 1
        self._lines.append(f"  %v{self._count} = {code}")
        return f"%v{self._count}"

    def _negated(self, a: str) -> str:
        return self._value(f"sub i64 0, {a}")

    def _floordiv(self, a: str, b: str) -> str:
        """⌊a / b⌋ for a positive b, and a / 1 for any other: no size is."""
        divisor = self._value(f"call i64 @llvm.smax.i64(i64 {b}, i64 1)")
        quotient = self._value(f"sdiv i64 {a}, {divisor}")
        whole = self._value(f"mul i64 {quotient}, {divisor}")
        below = self._value(f"icmp slt i64 {a}, {whole}")
        one = self._value(f"zext i1 {below} to i64")
        return self._value(f"sub i64 {quotient}, {one}")
