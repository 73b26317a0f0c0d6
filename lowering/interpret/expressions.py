"""`graph.expression`: the formula on whole grids of points; reductions one point of their axes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from stepwell.dialects import graph
from stepwell.dialects.graph.base import plain
from stepwell.dialects.graph.formula import dims_in
from stepwell.dialects.types import dtype_of, signless
from stepwell.lowering.interpret.engine import Compiler, Frame, Value, packed
from stepwell.lowering.interpret.grids import Array


class Formula:
    """A `graph.expression`, prepared."""

    def __init__(self, op: graph.ExpressionOp, compiler: Compiler):
        self._axes, self._reduce = op.axis_dims, op.reduce_dims
        self._sizes = [dims_in(sizes) for sizes in op.sizes]
        self._body = compiler.steps(op.body.block)
        self._combine = compiler.steps(op.combine.block) if op.combine.blocks else None
        self._dtypes = [dtype_of(signless(element)) for element in op.elements]
        self._outer_dtypes = [dtype_of(element) for element in op.elements]
        self._identity = cast("list[float]", [plain(number) for number in op.identity])

    def run(self, frame: Frame, *inputs: Array) -> Value:
        """The op's step: maps inputs to results."""
        symbols = {
            str(size): extent
            for value, sizes in zip(inputs, self._sizes, strict=True)
            for extent, size in zip(value.shape, sizes, strict=True)
        }
        axes = [max(dim.evaluate(symbols), 0) for dim in self._axes]
        reduce = [max(dim.evaluate(symbols), 0) for dim in self._reduce]
        stored = [_stored(value) for value in inputs]
        outer, mask = frame.grid, frame.mask
        frame.mask = None
        with np.errstate(all="ignore"):
            results = self._results(frame, axes, reduce, stored)
        frame.grid, frame.mask = outer, mask
        outputs = [
            np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype), axes)).view(outer_dtype)
            for value, dtype, outer_dtype in zip(results, self._dtypes, self._outer_dtypes, strict=True)
        ]
        return packed(outputs)

    def _results(
        self, frame: Frame, axes: Sequence[int], reduce: Sequence[int], inputs: Sequence[Array]
    ) -> Sequence[Value]:
        """The numbers of each result, which broadcast to its shape."""
        if 0 in axes:
            return [0 for _ in self._dtypes]
        points = [
            np.arange(n).reshape([n if d == axis else 1 for d in range(len(axes))])
            for axis, n in enumerate(axes)
        ]
        frame.grid = points
        if self._combine is None:
            return self._body.run(frame, [*points, *inputs])
        results: Sequence[Value] = [
            np.full(axes, number, dtype) for number, dtype in zip(self._identity, self._dtypes, strict=True)
        ]
        for step in np.ndindex(*reduce):
            at = [np.full([1] * len(axes), index) for index in step]
            frame.grid = [*points, *at]
            values = self._body.run(frame, [*points, *at, *inputs])
            results = self._combine.run(frame, [*results, *values])
        return results


def _stored(array: Array) -> Array:
    """An array with elements as level 2 has them: signless integers, and bytes of narrow floats."""
    if array.dtype.kind == "u":
        return array.view(f"i{array.itemsize}")
    return array if array.dtype.kind in "bifc" or array.itemsize > 1 else array.view(np.int8)


class Nest:
    """A `graph.nest`, prepared."""

    def __init__(self, op: graph.NestOp, compiler: Compiler):
        self._places = [_place(name, op) for name in op.names]
        self._body = compiler.steps(op.body.block)
        self._dtypes = [dtype_of(element) for element in op.elements]

    def run(self, frame: Frame, *inputs: Array) -> Value:
        """The op's step: maps inputs to results."""
        sizes = [inputs[position].shape[axis] for position, axis in self._places]
        outer, mask = frame.grid, frame.mask
        frame.grid, frame.mask = (), None
        with np.errstate(all="ignore"):
            results = self._body.run(frame, (*map(_stored, inputs), *sizes))
        frame.grid, frame.mask = outer, mask
        pairs = zip(cast("Sequence[Array]", results), self._dtypes, strict=True)
        return packed([np.ascontiguousarray(value).view(dtype) for value, dtype in pairs])


def _place(name: str, op: graph.NestOp) -> tuple[int, int]:
    """The input and dimension that are a size."""
    places = ((p, a) for p, sizes in enumerate(op.sizes) for a, size in enumerate(sizes) if size.data == name)
    return next(places)
