"""A module of the gpu level as a device part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import GlobalOp
from xdsl.ir import Attribute

from stepwell.dialects.constants import array_of
from stepwell.dialects.sched_program import WEIGHT, planned_program
from stepwell.dialects.types import DimsAttr
from stepwell.lowering.device_part.code import encoded
from stepwell.lowering.device_part.host_program import ALIGNMENT, array_at, host_program
from stepwell.runtime.devices.commands import ARENA, WEIGHTS, Command, CopyIn, CopyOut, Slice
from stepwell.runtime.devices.part import DevicePart, PartArray
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.named_target import Target


def device_part(
    module: ModuleOp,
    main: FuncOp,
    weights: WeightStore,
    *,
    name: str,
    device: str,
    target: Target,
    formats: Sequence[str],
    sizes_input: int | None = None,
) -> DevicePart:
    """
    The part of a module with kernels and a planned `@main`.

    Args: `sizes_input` is the argument whose elements are sizes; `formats` are those of the code.
    Raises: StepwellError `not-on-device`, `unsupported` for what the device has not.
    """
    program = planned_program(main)
    count = program.inputs.data + program.outputs.data
    places, arena = _arrays(main, count)
    values = [*places, Slice(ARENA, arena, "uint8", (program.arena_bytes,))]
    symbols = [Dim.symbol(symbol) for symbol in program.symbol_names]
    data, slices = _weights(module, weights)
    found = host_program(module, main, [*values, *symbols], slices, arena + program.arena_bytes)
    inputs, outputs = places[: program.inputs.data], places[program.inputs.data :]
    given = [number for number in range(len(inputs)) if number != sizes_input]
    commands: list[Command] = [CopyIn(number, inputs[number]) for number in given]
    commands += found.commands
    commands += [CopyOut(array, number) for number, array in enumerate(outputs)]
    return DevicePart(
        name,
        device,
        str(target.with_host(None)),
        tuple(PartArray(each.dtype, each.shape) for each in inputs),
        tuple(PartArray(each.dtype, each.shape) for each in outputs),
        _sources(program.symbol_names, inputs, sizes_input),
        sizes_input,
        found.arena,
        tuple(commands),
        {format: encoded(module, target, format) for format in formats},
        data,
    )


def _arrays(main: FuncOp, count: int) -> tuple[list[Slice], Dim]:
    """The places of inputs and outputs in the arena, and the first byte after them."""
    attributes = main.arg_attrs.data if main.arg_attrs is not None else [DictionaryAttr({})] * count
    places: list[Slice] = []
    end = Dim.of(0)
    for argument, about in zip(main.args[:count], attributes, strict=False):
        dims = about.data.get("graph.dims")
        shape = dims.get() if isinstance(dims, DimsAttr) else _static(argument.type)
        places.append(place := array_at(argument.type, ARENA, end, shape))
        end = end + place.nbytes.ceildiv(ALIGNMENT) * ALIGNMENT
    return places, end


def _static(type: Attribute) -> list[Dim]:
    from xdsl.dialects.builtin import MemRefType

    return [Dim.of(n) for n in cast("MemRefType[Attribute]", type).get_shape()]


def _sources(
    symbols: Sequence[str], inputs: Sequence[Slice], sizes_input: int | None
) -> Mapping[str, tuple[int, int]]:
    """
    The input and the axis of each symbol; of an input of sizes, the element.

    Raises: StepwellError `not-on-device` for a size that no dimension is.
    """
    found: dict[str, tuple[int, int]] = {}
    for number, array in enumerate(inputs):
        dims = array.shape[1:] if number == sizes_input else array.shape
        for axis, dim in enumerate(dims):
            if str(dim) in symbols:
                found.setdefault(str(dim), (number, axis))
    if missing := [name for name in symbols if name not in found]:
        message = f"the size {missing[0]} follows from no dimension of what the part reads"
        raise StepwellError("not-on-device", None, message)
    return {name: found[name] for name in symbols}


def _weights(module: ModuleOp, store: WeightStore) -> tuple[bytes, dict[str, Slice]]:
    """The bytes of all weights, and the place of each by its global's name."""
    pieces: list[bytes] = []
    slices: dict[str, Slice] = {}
    known: dict[Attribute, Slice] = {}
    end = 0
    for op in module.ops:
        if not isinstance(op, GlobalOp):
            continue
        value = op.attributes[WEIGHT]
        if value not in known:
            array: Array = array_of(value, store)
            data = array.tobytes()
            known[value] = array_at(op.type, WEIGHTS, Dim.of(end), [Dim.of(n) for n in array.shape])
            padded = -(-len(data) // ALIGNMENT) * ALIGNMENT
            pieces.append(data + bytes(padded - len(data)))
            end += padded
        slices[op.sym_name.data] = known[value]
    return b"".join(pieces), slices
