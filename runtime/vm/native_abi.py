"""
The binary interface between a program's native functions and the runtime: a call's context, and objects.

A native function is `ptr f(ptr ctx, ptr a0, … ptr a4)`: it takes over a reference to each argument, and
returns one to its result, or null after an error, which the context then describes. Arguments from the sixth
on are in the context. An object is

    {i32 count, i32 tag, i32 fields, i32 kind | size class << 8, …}

with `fields` addresses of objects after the head; a closure has the address of its entry before them. A
tensor has two addresses: of its elements and of its type. Equal types have equal addresses.
"""

from enum import IntEnum

from stepwell.runtime.vm.instructions import ConstructorOf

WORD_BYTES = 8
ARGUMENTS = 5
"""Arguments that are passed in registers: with the context they are the six of the System V ABI."""
MAX_FIELDS = 112
"""The most fields of an object."""
SIZE_CLASSES = 96
"""Blocks of up to 1 KiB in steps of 16 bytes, then of powers of two."""
_SMALL_BYTES = 1024
_STEP_BYTES = 16
# From here on, blocks begin a cache line.
_LINE, ALIGNED_FROM = 64, 128
IMMORTAL = 1 << 30
"""The count of objects that outlive a call: constants."""
INNER_FRAMES, OUTER_FRAMES = 11, 5
"""The calls around an error that are recorded: so many of the innermost, and the outermost."""
ITEM_WORDS = 3
"""
The i64 of an item, the form in which values enter and leave: kind | fields << 8, then tag and size class, or
the addresses of a tensor's elements and type.
"""


class Kind(IntEnum):
    """The kind of an object."""

    DATA = 1
    """A value of a data type, or a tuple."""
    TENSOR = 2
    CLOSURE = 3
    CELL = 4
    ENTERED = 5
    """Of items alone: an object of the caller's, whose address follows."""


class Failure(IntEnum):
    """Why a call ended."""

    STATED = 1
    """`vm.fatal` or `vm.check`: the instruction has code and message."""
    WRONG_KIND = 2
    """A value is not what the instruction works on; the detail is the object."""
    TOO_DEEP = 3
    STACK = 4
    """The stack or fuel is used up, or the call was interrupted."""
    OUT_OF_MEMORY = 5
    PACKED = 6
    """A segment or host function failed; the detail is its number, with its status above 32 bits."""
    BAD_FIELD = 7
    """There is no such field; the detail is the object."""
    WRONG_ARGUMENTS = 8
    """A function value is called with another number of arguments; the detail is the object."""


class Field(IntEnum):
    """Offsets into the context in words."""

    BUMP = 0
    """The memory for new blocks: its begin, and its end."""
    BUMP_END = 1
    DEPTH = 2
    """The calls around the current one, and their limit."""
    MAX_DEPTH = 3
    STACK_LIMIT = 4
    """The lowest address of the stack; all ones to interrupt the call."""
    STACK_BYTES = 5
    """The size of the stack that a call may use; 0 for no check."""
    ALLOCATE = 6
    """`i64 allocate(ptr ctx, i64 bytes)`: sets `BUMP` and `BUMP_END`; 0 when there is no memory."""
    PACKED = 7
    """`i64 packed(ptr ctx, i64 number, ptr arguments, ptr results)`: calls what has no native call."""
    SEGMENTS = 8
    """Table of native calls of segments: code, sizes, context, arena."""
    CONSTANTS = 9
    """Table of objects."""
    TYPES = 10
    """Table of addresses of types: element type, rank, bytes, sizes. The first is a bool scalar's."""
    EXTRA = 11
    """Arguments from the sixth on."""
    ENTRIES = 12
    """Table of the functions' addresses."""
    THUNKS = 13
    """Table of the closures' entries."""
    ERROR = 14
    """A `Failure`, its function and instruction, and detail."""
    SITE = 15
    DETAIL = 16
    FRAMES = 17
    """The number of calls that an error has passed."""
    INNER = 18
    """Tables of the innermost and outermost of these calls, and how many are of each function."""
    OUTER = 19
    COUNTS = 20
    FUEL = 21
    """The number of calls and turns of loops that are left."""
    FREE = 22
    """Lists of free blocks by size class."""


TAG_BITS = 16


def constructor_code(constructor: ConstructorOf) -> int:
    """The `tag` of objects of a constructor: the number of its data type from 1 on, and its tag."""
    return constructor.data + 1 << TAG_BITS | constructor.tag


# After the lists of free blocks: new fields leave those before them where they are.
OPEN, PREPARE = Field.FREE + SIZE_CLASSES, Field.FREE + SIZE_CLASSES + 1
"""
Table of rows of segments with open sizes, null for those that only Python calls; and `i64 prepare(ptr ctx,
i64 number, ptr arguments)`, which makes such a row be for the sizes of some arguments.
"""
STACK_NOW = PREPARE + 1
"""An address in the stack's last frame, when `ALLOCATE` is called."""
CONTEXT_WORDS = STACK_NOW + 1
SEGMENT_WORDS = 4
OUTPUT_WORDS = 4
"""
Of each output in a row of a segment with open sizes, after the types of its inputs: type, size class, bytes,
and the offset of the elements.
"""
DATA_HEAD_BYTES = 16
TENSOR_HEAD_BYTES = 32
TYPE_HEAD_WORDS = 3
"""Element type, rank and bytes, before the sizes."""


def tensor_offset(data_bytes: int) -> int:
    """The offset of a tensor's elements in its block: a cache line unless they are few."""
    return TENSOR_HEAD_BYTES if TENSOR_HEAD_BYTES + data_bytes < ALIGNED_FROM else _LINE


def size_class(size_bytes: int) -> tuple[int, int]:
    """The class of a block of at least so many bytes, and its size. Raises: ValueError beyond all classes."""
    if size_bytes <= _SMALL_BYTES:
        step = _STEP_BYTES if size_bytes < ALIGNED_FROM else _LINE
        size = -(-max(size_bytes, _STEP_BYTES) // step) * step
        return size // _STEP_BYTES - 1, size
    power = (size_bytes - 1).bit_length()
    number = _SMALL_BYTES // _STEP_BYTES + power - 11
    if number >= SIZE_CLASSES:
        raise ValueError(f"no object has {size_bytes} bytes")
    return number, 1 << power
