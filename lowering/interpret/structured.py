"""
`linalg`: structured ops, their bodies run on whole grids of elements.

Parallel loops run all iterations at once. Reductions are computed in the fastest way that their body allows:
as a matrix product, as one numpy reduction, or step by step along them with all parallel iterations at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap

from stepwell.lowering.interpret.contractions import Contraction, contract
from stepwell.lowering.interpret.engine import (
    Compiler,
    Frame,
    InFrame,
    Step,
    Steps,
    Value,
    implements_in_frame,
)
from stepwell.lowering.interpret.grids import Array, along_loops, index_grid, linear_form, loop_extents
from stepwell.lowering.interpret.reductions import combiners_of
from stepwell.lowering.interpret.scalars import is_grid
from stepwell.lowering.interpret.tensors import checked
from stepwell.runtime.errors import StepwellError

MAX_GRID_ELEMS = 1 << 23
"""Larger grids are run in pieces: a few temporaries of this size fit in memory."""


@implements_in_frame("linalg.*")
def prepare_structured(op: Operation, compiler: Compiler) -> Step:
    """A structured op on tensors, whose outputs are new arrays, or on buffers, which it writes."""
    if not isinstance(op, LinalgStructuredOperation):
        raise StepwellError("unsupported-op", op, f"the interpreter cannot run {op.name}")
    return _Structured(op, compiler).run


@implements_in_frame("linalg.index")
def prepare_index(op: IndexOp, compiler: Compiler) -> InFrame:
    """The index along a loop of the enclosing structured op."""
    dim = op.dim.value.data
    return lambda frame: frame.grid[dim]


class _Structured:
    """A structured op, prepared."""

    def __init__(self, op: LinalgStructuredOperation, compiler: Compiler):
        self._maps: list[AffineMap] = [attr.data for attr in op.get_indexing_maps()]
        self._inputs = len(op.inputs)
        self._body: Steps = compiler.steps(op.body.block)
        self._shaped = [isinstance(value.type, TensorType | MemRefType) for value in op.operands]
        self._in_place = not op.res
        kinds = [it.data for it in op.get_iterator_types()]
        self._reductions = [dim for dim, kind in enumerate(kinds) if kind == IteratorType.REDUCTION]
        self._parallel = [dim for dim, kind in enumerate(kinds) if kind != IteratorType.REDUCTION]
        self._scatters = not all(self._moves_evenly(map) for map in self._maps[self._inputs :])
        self._contraction = Contraction.of(op)
        self._combiners = combiners_of(op, compiler)

    def _moves_evenly(self, map: AffineMap) -> bool:
        """Whether an output's element is written once, by linear indices of parallel loops only."""
        linear = all(linear_form(expr, map.num_dims) is not None for expr in map.results)
        return linear and not map.used_dims() & set(self._reductions)

    def run(self, frame: Frame, *operands: Value) -> Value:
        """The op's step: maps operands to results."""
        outputs = operands[self._inputs :]
        if not self._in_place:
            outputs = tuple(np.array(output) for output in outputs)
        operands = (*operands[: self._inputs], *outputs)
        shaped = [k for k, is_shaped in enumerate(self._shaped) if is_shaped]
        extents = loop_extents([self._maps[k] for k in shaped], [operands[k] for k in shaped])
        if 0 not in extents and self._scatters:
            self._run_one_by_one(frame, operands, extents)
        elif 0 not in extents:
            seen = [
                along_loops(operand, map, extents) if is_shaped else operand
                for operand, map, is_shaped in zip(operands, self._maps, self._shaped, strict=True)
            ]
            self._run_in_pieces(frame, seen, extents)
        if self._in_place:
            return ()
        return outputs[0] if len(outputs) == 1 else outputs

    def _run_one_by_one(self, frame: Frame, operands: Sequence[Value], extents: Sequence[int]) -> None:
        """Run element by element, for outputs whose elements may be written repeatedly."""
        outer = frame.grid
        for frame.grid in np.ndindex(*extents):
            indices = [map.eval(frame.grid, ()) for map in self._maps]
            elements = [
                operand[checked(index, operand.shape)] if is_shaped else operand
                for operand, index, is_shaped in zip(operands, indices, self._shaped, strict=True)
            ]
            results = self._body.run(frame, elements)
            for k, result in enumerate(results, self._inputs):
                operands[k][indices[k]] = result
        frame.grid = outer

    def _run_in_pieces(self, frame: Frame, operands: Sequence[Value], extents: Sequence[int]) -> None:
        """Run on grids of bounded size, one piece of the longest loop at a time."""
        grid = index_grid(extents)
        outer, mask = frame.grid, frame.mask
        frame.mask = None
        resident = self._resident_loops(extents)
        splittable = resident if self._combiners and self._contraction is None else self._parallel
        axis = max((dim for dim in resident if dim in splittable), key=lambda dim: extents[dim], default=None)
        for piece in _pieces([extents[dim] for dim in resident], None if axis is None else extents[axis]):
            frame.grid = [_part(index, axis, piece) for index in grid]
            self._run_piece(frame, [_part(operand, axis, piece) for operand in operands])
        frame.grid, frame.mask = outer, mask

    def _resident_loops(self, extents: Sequence[int]) -> Sequence[int]:
        """The loops whose product is the number of elements that are in memory together."""
        if self._contraction is not None:
            factors = (self._maps[k].used_dims() for k in (self._contraction.lhs, self._contraction.rhs))
            return sorted(max(factors, key=lambda dims: prod(extents[dim] for dim in dims)))
        if self._combiners is None and self._reductions:
            return self._parallel
        return range(len(extents))

    def _run_piece(self, frame: Frame, operands: Sequence[Value]) -> None:
        """Run on one piece: elementwise, as a matrix product, as numpy reductions, or step by step."""
        outputs = operands[self._inputs :]
        if not self._reductions:
            results: Sequence[Value] = self._body.run(frame, operands)
        elif self._contraction is not None:
            results = [contract(self._contraction, operands, self._maps, self._reductions)]
        elif self._combiners is not None:
            self._body.run(frame, [*operands[: self._inputs], *(o.dtype.type(0) for o in outputs)])
            shape = np.broadcast_shapes(*(np.shape(index) for index in frame.grid))
            results = [
                combiner.reduce(frame.slots[combiner.slot], output, shape, self._reductions)
                for combiner, output in zip(self._combiners, outputs, strict=True)
            ]
        else:
            results = self._run_steps(frame, operands)
        for output, result in zip(outputs, results, strict=True):
            output[...] = _last(result, output.shape)

    def _run_steps(self, frame: Frame, operands: Sequence[Value]) -> Sequence[Value]:
        """Run step by step along the reductions; returns the outputs' elements."""
        grid = frame.grid
        inputs, results = operands[: self._inputs], list(operands[self._inputs :])
        for step in np.ndindex(*(np.shape(grid[dim])[dim] for dim in self._reductions)):
            at = dict(zip(self._reductions, step, strict=True))
            frame.grid = [_at(index, at) for index in grid]
            results = self._body.run(frame, [*(_at(value, at) for value in inputs), *results])
        frame.grid = grid
        return results


def _pieces(resident: Sequence[int], extent: int | None) -> Iterator[slice]:
    """The parts of a loop of some extent such that each part's elements in memory stay below the limit."""
    if extent is None:
        yield slice(None)
        return
    size = -(-extent // min(extent, -(-prod(resident) // MAX_GRID_ELEMS)))
    for start in range(0, extent, size):
        yield slice(start, start + size)


def _part(value: Value, axis: int | None, piece: slice) -> Value:
    """The part of a value along one loop; all of it if the loop does not index it."""
    if axis is None or not is_grid(value) or value.shape[axis] == 1:
        return value
    return value[(slice(None),) * axis + (piece,)]


def _at(value: Value, steps: Mapping[int, int]) -> Value:
    """The part of a value at one step of some loops."""
    if not is_grid(value):
        return value
    index = [slice(None)] * value.ndim
    for dim, step in steps.items():
        if value.shape[dim] > 1:
            index[dim] = slice(step, step + 1)
    return value[tuple(index)]


def _last(value: Value, shape: Sequence[int]) -> Array:
    """A value for an output; along loops that do not index the output, the last iteration's."""
    array = np.asarray(value)
    if array.ndim < len(shape):
        return array
    keep = [
        slice(-1, None) if n == 1 and m > 1 else slice(None) for n, m in zip(shape, array.shape, strict=True)
    ]
    return array[tuple(keep)]
