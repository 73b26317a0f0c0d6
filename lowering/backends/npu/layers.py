"""Composites of the table as layers: a program of the accelerator, and the arrays that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects.builtin import I64, DenseArrayBase
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph, npu
from stepwell.dialects.types import dims_of
from stepwell.lowering.backends.base import Constants
from stepwell.lowering.backends.npu.convolution import ConvProgram
from stepwell.lowering.backends.npu.layout import OFFSET, blocks, packed_channels, packed_weights
from stepwell.lowering.backends.npu.pooling import PoolProgram, pool_tile
from stepwell.lowering.backends.npu.sums import SumProgram
from stepwell.lowering.backends.npu.table import operations
from stepwell.lowering.backends.npu.tiles import ConvShape, chosen_tile
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.npu.config import Config, config_of


@dataclass(frozen=True)
class Layer:
    """A program with input feature maps and constant arrays; the last array is the result."""

    program: npu.ProgramOp
    inputs: tuple[SSAValue, ...]
    arrays: tuple[Array, ...]
    result: SSAValue
    shape: tuple[int, int, int]
    """Channels, rows and columns of the result."""


def layer_of(composite: graph.CompositeOp, constants: Constants, config: str, name: str) -> Layer:
    """The layer of a composite. Raises: StepwellError `unsupported` for one that no buffer has room for."""
    last = composite.body.block.last_op
    assert last is not None
    ops = operations(last.operands[0])
    outside: dict[SSAValue, SSAValue] = dict(zip(composite.body.block.args, composite.operands, strict=True))
    for op in ops:
        if isinstance(op, graph.ConvIntegerOp):
            return _requantized(composite, ops, _convolution(op, constants), constants, config, name, outside)
        if isinstance(op, graph.MatmulIntegerOp):
            return _requantized(composite, ops, _product(op, constants), constants, config, name, outside)
        if isinstance(op, graph.PoolOp):
            return _maxima(composite, op, config, name, outside)
    return _sum(composite, ops, constants, config, name, outside)


@dataclass(frozen=True)
class _Products:
    """The products of a layer as those of a convolution."""

    x: SSAValue
    weights: Array
    """Filters by output, input, row and column."""
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]
    zero: int
    """The zero point of the inputs."""
    border: int
    """The value of padding."""


def _convolution(conv: graph.ConvIntegerOp, constants: Constants) -> _Products:
    zero = _zero_point(conv.x_zero_point, constants)
    return _Products(
        conv.x,
        _array(conv.w, constants),
        _pair(conv, "strides"),
        _pair(conv, "dilations"),
        cast("tuple[int, int, int, int]", tuple(_numbers(conv, "pads"))),
        zero,
        zero if conv.x_zero_point is not None else conv.border.value.data,
    )


def _product(product: graph.MatmulIntegerOp, constants: Constants) -> _Products:
    """A product of rows as a convolution of feature maps of a row and a column."""
    weights = _array(product.b, constants).T[:, :, None, None]
    zero = _zero_point(product.a_zero_point, constants)
    return _Products(product.a, weights, (1, 1), (1, 1), (0, 0, 0, 0), zero, zero)


def _zero_point(value: SSAValue | None, constants: Constants) -> int:
    return 0 if value is None else int(_array(value, constants).item())


def _requantized(
    composite: graph.CompositeOp,
    ops: Sequence[Operation],
    given: _Products,
    constants: Constants,
    config: str,
    name: str,
    outside: dict[SSAValue, SSAValue],
) -> Layer:
    """The layer of products with bias and requantization."""
    sizes, weights = config_of(config), given.weights
    channels, height, width = _shape(given.x)
    shape = ConvShape(
        blocks(channels, sizes.block_in),
        blocks(len(weights), sizes.block_out),
        height,
        width,
        (weights.shape[2], weights.shape[3]),
        given.strides,
        given.dilations,
        given.pads,
    )
    tile = chosen_tile(shape, sizes)
    if tile is None:
        message = f"no tile of products by {weights.shape} weights has room in the buffers of {config}"
        raise StepwellError("unsupported", composite, message)
    bias, factors, shifts, point = (_array(value, constants).reshape(-1) for value in _scaling(ops))
    every = [np.broadcast_to(each, [len(weights)]) for each in (bias, factors, shifts)]
    # Unsigned bytes are stored less 128, which is as if the zero point were less 128.
    sums = weights.astype(np.int64).sum((1, 2, 3))
    parameters = packed_channels((every[0] + (OFFSET - given.zero) * sums, every[1], every[2]), sizes)
    program = ConvProgram(shape, tile, config, given.border - OFFSET, int(point[0]) - OFFSET).program(name)
    arrays = packed_weights(weights.astype(np.int8), sizes), parameters
    return Layer(program, (outside[given.x],), arrays, composite.results[0], _shape(composite.results[0]))


def _sum(
    composite: graph.CompositeOp,
    ops: Sequence[Operation],
    constants: Constants,
    config: str,
    name: str,
    outside: dict[SSAValue, SSAValue],
) -> Layer:
    sizes = config_of(config)
    inputs = [op.input for op in ops if isinstance(op, graph.CastOp) and op.input in outside]
    points = [_array(value, constants).item() for value in _operands(ops, graph.AddOp, np.int32)]
    factors = [_array(value, constants).item() for value in _operands(ops, graph.MultiplyOp, np.int64)]
    shifts = [_array(op.operands[1], constants).item() for op in ops if isinstance(op, graph.ShiftRightOp)]
    last = [op for op in ops if isinstance(op, graph.AddOp)][-1]
    (point,) = [array.item() for array in map(constants.of, last.operands) if array is not None]
    shape = _shape(composite.results[0])
    count = blocks(shape[0], sizes.block_out) * shape[1] * shape[2]
    program = SumProgram(count, config, (OFFSET + points[0], OFFSET + points[1]), shifts[2], point - OFFSET)
    numbers = (factors[0], shifts[0], factors[1], shifts[1])
    rows = tuple(np.full(sizes.block_out, number) for number in numbers)
    arrays = _identity(sizes), packed_channels(rows, sizes)
    values = tuple(outside[value] for value in inputs)
    return Layer(program.program(name), values, arrays, composite.results[0], shape)


def _maxima(
    composite: graph.CompositeOp,
    pool: graph.PoolOp,
    config: str,
    name: str,
    outside: dict[SSAValue, SSAValue],
) -> Layer:
    """The layer of maxima over windows. Raises: StepwellError `unsupported`."""
    sizes = config_of(config)
    channels, height, width = _shape(pool.x)
    count = blocks(channels, sizes.block_in)
    kernel, strides, dilations = (_pair(pool, key) for key in ("kernel", "strides", "dilations"))
    pads = cast("tuple[int, int, int, int]", tuple(_numbers(pool, "pads")))
    shape = ConvShape(count, count, height, width, kernel, strides, dilations, pads)
    tile = pool_tile(shape, sizes)
    if tile is None:
        message = f"no tile of windows of {kernel} has room in the buffers of {config}"
        raise StepwellError("unsupported", composite, message)
    program = PoolProgram(shape, tile, config).program(name)
    result = composite.results[0]
    return Layer(program, (outside[pool.x],), (_identity(sizes),), result, _shape(result))


def _identity(sizes: Config) -> Array:
    """The matrix by which products widen bytes."""
    return np.eye(sizes.block_out, sizes.block_in, dtype=np.int8)[None]


def _scaling(ops: Sequence[Operation]) -> list[SSAValue]:
    """The constants of a requantization: biases, factors, shifts, zero point."""
    bias = next(op for op in ops if isinstance(op, graph.BiasAddOp)).b
    factors = next(op for op in ops if isinstance(op, graph.MultiplyOp))
    shifts = next(op for op in ops if isinstance(op, graph.ShiftRightOp))
    point = [op for op in ops if isinstance(op, graph.AddOp)][-1]
    return [bias, _constant(factors), shifts.operands[1], _constant(point)]


def _constant(op: Operation) -> SSAValue:
    """The constant operand of an op."""
    return next(value for value in op.operands if isinstance(value.owner, graph.ConstantOp))


def _operands(ops: Sequence[Operation], kind: type[Operation], dtype: type[np.generic]) -> list[SSAValue]:
    """The constant operands of ops of a kind whose elements have a type."""
    name = np.dtype(dtype).name.replace("int", "i")
    found = [_constant(op) for op in ops if isinstance(op, kind) and any(map(_is_constant, op.operands))]
    return [value for value in found if f"{name}>" in str(value.type)]


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, graph.ConstantOp)


def _array(value: SSAValue, constants: Constants) -> Array:
    array = constants.of(value)
    assert array is not None
    return array


def _shape(value: SSAValue) -> tuple[int, int, int]:
    """Channels, rows and columns of feature maps; a row has channels alone."""
    _, channels, *size = dims_of(value.type)
    height, width = (dim.value for dim in size) if size else (1, 1)
    return channels.value, height, width


def _numbers(op: graph.ConvIntegerOp | graph.PoolOp, name: str) -> Sequence[int]:
    return cast("DenseArrayBase[I64]", op.properties[name]).get_values()


def _pair(op: graph.ConvIntegerOp | graph.PoolOp, name: str) -> tuple[int, int]:
    first, second = _numbers(op, name)
    return first, second
