"""`count-draws`: masks of dropout are functions of a seed and of the number of the call."""

from __future__ import annotations

import json
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.host import payload_bytes
from stepwell.dialects.graph_ir.state import add_state, return_states
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.functions import main_function
from stepwell.runtime.files.weights import WeightStore

DRAWS = "draws"
"""The state that counts calls."""
_MASK = "host.dropout_mask"
_U32 = IntegerType(32, Signedness.UNSIGNED)
_BITS = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9
"""2^32 over the golden ratio: multiples are far apart."""
_SHIFTS, _FACTORS = (16, 15, 16), (0x7FEB352D, 0x846CA68B)


@dataclass(frozen=True)
class CountDrawsPass(Pass):
    """
    Compute masks of dropout that the host draws from a seed, and let them differ from call to call.

    ```mlir
    %kept = graph.host_call "numpy" "host.dropout_mask" payload "{… \\"seed\\": 3 …}" (%x, %ratio)
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xi1>
    // ->
    %h = … // 32 bits of each element: a hash of the seed, of the state "draws", and of the position
    %n = graph.shift_right %h, %eight : (tensor<4x8xui32>, tensor<ui32>) -> tensor<4x8xui32>
    %u = graph.cast %n to f32 saturate true round "nearest" : tensor<4x8xui32> -> tensor<4x8xf32>
    // times 2^-24
    %kept = graph.less_equal %ratio, %u : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    ```
    `@main` gets a state `draws`, the number of calls before. Masks are equal for equal seeds, on any number
    of threads and in each executor, for the hash is of integers. Masks without a seed stay the host's.

    Class: approximate: other random numbers.
    Source: the hash is `lowbias32` of Wellons, "Prospecting for Hash Functions" (2018).
    """

    name = "count-draws"
    numerics = Numerics.APPROXIMATE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main, weights = main_function(op), weights_of(ctx)
        masks = [call for call in main.walk() if isinstance(call, graph.HostCallOp)]
        found = [(call, seed) for call in masks if (seed := _seed_of(call, weights)) is not None]
        if not found:
            return
        count = add_state(main, DRAWS, tensor_type(_U32, []))
        for number, (call, seed) in enumerate(found):
            b = GradientBuilder(Builder(InsertPoint.before(call)), weights)
            before = call.prev_op
            kept = _mask(call, count, _mixed(_mixed(seed) + number * _GOLDEN), b)
            made = call.prev_op
            while made is not None and made is not before:
                adopt_location(made, call.location)
                made = made.prev_op
            Rewriter.replace_op(call, [], [kept])
        _count_on(main, count, weights)


def _seed_of(call: graph.HostCallOp, weights: WeightStore) -> int | None:
    """The seed of a mask that the host draws; None for any other call, and for a mask without a seed."""
    if call.callee.data != _MASK:
        return None
    seed = json.loads(payload_bytes(call, weights))["attributes"]["seed"]
    return None if seed is None else int(seed)


def _count_on(main: FuncOp, count: SSAValue, weights: WeightStore) -> None:
    """Let the next call have the next number."""
    last = main.body.block.last_op
    assert last is not None
    b = GradientBuilder(Builder(InsertPoint.before(last)), weights)
    return_states(main, {DRAWS: b.plus(count, 1)})


def _mask(call: graph.HostCallOp, count: SSAValue, key: int, b: GradientBuilder) -> SSAValue:
    """The elements of a tensor that are kept, each with the probability 1 - ratio."""
    _, ratio = call.arguments
    dims = dims_of(call.values[0].type)
    number = b.reshape(count, [1] * max(1, len(dims)))
    bits = _hash(b.plus(b.scaled(number, _GOLDEN), key), b)
    for axis, dim in enumerate(dims):
        if dim != 1:
            shape = [dim if other == axis else 1 for other in range(len(dims))]
            position = b.insert(graph.IotaOp(shape, axis, _U32))
            bits = _hash(b.insert(graph.XorOp(bits, position)), b)
    upper = b.insert(graph.ShiftRightOp(bits, b.scalar(8, bits)))
    uniform = b.scaled(b.insert(graph.CastOp(upper, f32)), 2.0**-24)
    limit = ratio if tensor_of(ratio).element_type == f32 else b.insert(graph.CastOp(ratio, f32))
    kept = b.insert(graph.LessEqualOp(limit, uniform))
    return kept if kept.type == call.values[0].type else b.reshape(kept, dims)


def _hash(bits: SSAValue, b: GradientBuilder) -> SSAValue:
    """Each bit of the result depends on all bits of an element."""
    for shift, factor in zip(_SHIFTS, (*_FACTORS, None), strict=True):
        shifted = b.insert(graph.ShiftRightOp(bits, b.scalar(shift, bits)))
        bits = b.insert(graph.XorOp(bits, shifted))
        bits = bits if factor is None else b.scaled(bits, factor)
    return bits


def _mixed(number: int) -> int:
    """The hash of a number at compile time."""
    bits = number & _BITS
    for shift, factor in zip(_SHIFTS, (*_FACTORS, 1), strict=True):
        bits = ((bits ^ (bits >> shift)) * factor) & _BITS
    return bits
