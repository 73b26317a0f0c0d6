"""Moves, conversions and exchanges of values: `mov`, `cvt`, `cvta`, `shfl`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from stepwell.lowering.interpret.lanes.state import expect_whole_warps
from stepwell.lowering.interpret.lanes.tensor_cores import to_tf32
from stepwell.lowering.interpret.ptx.arithmetic import elementwise
from stepwell.lowering.interpret.ptx.code import LOCAL_WINDOW, SHARED_WINDOW, Code, Frame, Step, makes
from stepwell.lowering.interpret.ptx.reader import Instruction
from stepwell.lowering.interpret.ptx.values import BITS, TYPES, DType, Value, per_lane, where

_ROUNDINGS: Mapping[str, Callable[[Value], Value]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_BFLOAT = "bf16"
_U32 = np.dtype(np.uint32)
_WINDOWS = {"global": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


@makes("mov")
def make_move(code: Code, instruction: Instruction) -> Step:
    """A copy of a register; braces split it into parts, or make it of parts."""
    dtype = TYPES[instruction.parts[1]]
    target, source = instruction.operands
    if target.startswith("{"):
        return _split(code, target, source, dtype)
    put = code.put(target)
    if source.startswith("{"):
        return _joined(code, target, source, dtype)
    get = code.get(source, dtype)
    return lambda frame: put(frame, get(frame))


def _pieces(operand: str) -> list[str]:
    return [each.strip() for each in operand.strip("{}").split(",")]


def _split(code: Code, target: str, source: str, dtype: DType) -> Step:
    """The parts of a register, the lowest one first."""
    puts = [code.put(each) for each in _pieces(target)]
    get, part = code.get(source, BITS[dtype.itemsize]), BITS[dtype.itemsize // len(puts)]
    bits = 8 * part.itemsize

    def run(frame: Frame) -> None:
        value = get(frame)
        for number, put in enumerate(puts):
            put(frame, (value >> value.dtype.type(bits * number)).astype(part))

    return run


def _joined(code: Code, target: str, source: str, dtype: DType) -> Step:
    """A register of parts, the lowest one first."""
    put, pieces, whole = code.put(target), _pieces(source), BITS[dtype.itemsize]
    part = BITS[dtype.itemsize // len(pieces)]
    gets = [code.get(each, part) for each in pieces]

    def run(frame: Frame) -> None:
        total: Value = whole.type(0)
        for number, get in enumerate(gets):
            total = total | (get(frame).astype(whole) << whole.type(8 * part.itemsize * number))
        put(frame, total)

    return run


@makes("cvta")
def make_address(code: Code, instruction: Instruction) -> Step:
    """A generic address of one in a space, or the other way round: each space has a window."""
    *_, space, type = instruction.parts
    window, dtype = np.uint64(_WINDOWS[space]), TYPES[type]
    get, put = code.get(instruction.operands[1], dtype), code.put(instruction.operands[0])
    if not window:
        return lambda frame: put(frame, get(frame))
    if "to" in instruction.parts:
        return lambda frame: put(frame, get(frame) - window)
    return lambda frame: put(frame, get(frame) + window)


@makes("cvt")
def make_conversion(code: Code, instruction: Instruction) -> Step:
    """A number of another type: saturated from floats to integers, rounded to nearest to floats."""
    if instruction.parts[1:] == ("rna", "tf32", "f32"):
        return elementwise(code, instruction, to_tf32, [TYPES["f32"]])
    *modifiers, to, source = instruction.parts[1:]
    read = TYPES["b16"] if source == _BFLOAT else TYPES[source]
    get, put = code.get(instruction.operands[1], read), code.put(instruction.operands[0])
    convert = _conversion(modifiers, to, source)
    return lambda frame: put(frame, convert(get(frame)))


def _conversion(modifiers: list[str], to: str, source: str) -> Callable[[Value], Value]:
    """The function of a conversion. Raises: KeyError, ValueError for one that is not known."""
    if source == _BFLOAT:
        widened = _conversion(modifiers, to, "f32")
        return lambda value: widened(_from_bfloat(value))
    rounding = [each for each in modifiers if each in _ROUNDINGS]
    if {*modifiers} - {"rn", *rounding} or len(modifiers) > 1:
        raise ValueError(modifiers)
    if to == _BFLOAT:
        if source != "f32":
            raise ValueError(source)
        return _to_bfloat
    dtype, from_ = TYPES[to], TYPES[source]
    if from_.kind != "f":
        return lambda value: value.astype(dtype)
    if dtype.kind == "f":
        if rounding:
            whole = _ROUNDINGS[rounding[0]]
            return lambda value: whole(value).astype(dtype)
        return lambda value: value.astype(dtype)
    whole = _ROUNDINGS[rounding[0]]
    return lambda value: _saturated(whole(value), dtype, from_)


def _saturated(value: Value, dtype: DType, source: DType) -> Value:
    """A whole float as an integer within its range; NaN is 0, or the highest bit where one has 64 bits."""
    limits = np.iinfo(dtype)
    wide = value.astype(np.float64)
    # The largest number of 64 bits is no f64: what reaches it is beyond.
    above, below = wide >= np.float64(limits.max), wide <= np.float64(limits.min)
    inside = where(above | below | np.isnan(wide), 0, wide).astype(dtype)
    found = where(above, dtype.type(limits.max), where(below, dtype.type(limits.min), inside))
    has_64_bits = dtype.itemsize == 8 or source.itemsize == 8
    nan = np.array(1 << (8 * dtype.itemsize - 1) if has_64_bits else 0, BITS[dtype.itemsize])[()].view(dtype)
    return where(np.isnan(wide), nan, found)


def _from_bfloat(bits: Value) -> Value:
    return (bits.astype(_U32) << np.uint32(16)).view(np.float32)


def _to_bfloat(value: Value) -> Value:
    """The upper half of an f32, rounded to nearest even."""
    bits = value.view(_U32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    return where(np.isnan(value), np.uint16(0x7FFF), rounded)


@makes("shfl")
def make_shuffle(code: Code, instruction: Instruction) -> Step:
    """The value of another lane of the warp, and a predicate for whether there is one in the segment."""
    if instruction.parts[1] != "sync" or instruction.parts[3] != "b32":
        raise ValueError(instruction.text)
    mode = instruction.parts[2]
    target, value, offset, clamp, _ = instruction.operands
    target, _, valid = target.partition("|")
    put, put_valid = code.put(target), code.put(valid or "_")
    get, get_offset, get_clamp = (code.get(each, _U32) for each in (value, offset, clamp))

    def run(frame: Frame) -> None:
        group = frame.group
        expect_whole_warps(group, frame.mask, instruction)
        values = per_lane(get(frame), group.lanes)
        lane = (group.thread_number % group.warp).astype(np.int64)
        source, inside = _source(mode, lane, get_offset(frame).astype(np.int64), get_clamp(frame))
        put(frame, values[np.arange(group.lanes) - lane + where(inside, source, lane)])
        put_valid(frame, np.broadcast_to(inside, lane.shape))

    return run


def _source(mode: str, lane: Value, offset: Value, packed: Value) -> tuple[Value, Value]:
    """The lane that is read, and whether it is in the segment."""
    segment = ((packed >> np.uint32(8)) & np.uint32(31)).astype(np.int64)
    clamp = (packed & np.uint32(31)).astype(np.int64)
    highest, lowest = (lane & segment) | (clamp & ~segment & 31), lane & segment
    if mode == "up":
        source = lane - offset
        return source, source >= highest
    source = {"down": lane + offset, "bfly": lane ^ offset, "idx": lowest | (offset & ~segment & 31)}[mode]
    return source, source <= highest
