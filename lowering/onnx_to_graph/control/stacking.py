"""Values that a loop collects: a carried tensor to which each iteration writes, or appends, a row."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import prod

import numpy as np
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.advice import on_open_size
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.graph_ir.annotations import in_bounds
from stepwell.dialects.types import dims_of, dtype_of, tensor_of, tensor_type
from stepwell.lowering.onnx_to_graph.control.loop_bodies import ConvertedBody
from stepwell.lowering.onnx_to_graph.control.regions import RegionLowering
from stepwell.lowering.onnx_to_graph.support import emit
from stepwell.passes.analysis.rename_symbols import defined_names
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

MAX_SPARE_BYTES = 1 << 26
"""The most memory of preallocated rows, not all of which may be needed."""


class _Kind(Enum):
    """The ways to collect: preallocated rows, a tensor that grows, or elements of rows of any shape."""

    ROWS = 0
    GROWN = 1
    FLAT = 2


def _bytes_of(value: SSAValue, rows: Dim) -> int:
    """The bytes of a number of rows, as far as the sizes are known."""
    extents = [dim.value for dim in (rows, *dims_of(value.type)) if dim.is_static]
    return prod(extents) * dtype_of(tensor_of(value).element_type).itemsize if rows.is_static else 0


class Stacked:
    """The collecting tensors of one loop; arguments of its body are added when needed."""

    def __init__(
        self, lowering: RegionLowering, op: onnx.OnnxOp, body: ConvertedBody, rewriter: PatternRewriter
    ):
        self._lowering, self._op, self._body, self._rewriter = lowering, op, body, rewriter
        self._inside = {*body.carries, *defined_names(body.region)}
        self._bound: dict[SSAValue, Dim] = {}
        self.next_values: list[SSAValue] = []
        """The body's next value of each collecting tensor."""
        self._kinds: list[_Kind] = []

    def collect(
        self, values: Sequence[SSAValue], rows: Dim | None, number: SSAValue, *, at: int
    ) -> list[SSAValue]:
        """
        Stack values of the iterations: in `rows` preallocated rows, or in as many as there are iterations
        (None).

        Args: `at` is the position of the body's first collecting argument.
        Returns: the initial values of the collecting tensors.
        """
        return [initial for value in values for initial in self._collect_one(value, rows, number, at)]

    def _collect_one(
        self, value: SSAValue, rows: Dim | None, number: SSAValue, at: int
    ) -> Sequence[SSAValue]:
        """Stack one of the values; returns the initial values of its collecting tensors."""
        position = at + len(self.next_values)
        if not self._is_known(value):
            self._kinds.append(_Kind.FLAT)
            return self._flat(value, at=position)
        if rows is None or _bytes_of(value, rows) > MAX_SPARE_BYTES:
            self._kinds.append(_Kind.GROWN)
            return [self.grow(value, at=position)]
        self._kinds.append(_Kind.ROWS)
        return [self.add(value, rows, number, at=position)]

    def results(self, values: Sequence[SSAValue], rows: Dim) -> list[SSAValue]:
        """The collected tensors, with as many rows as there were iterations, from the loop's results."""
        given = iter(values)
        found: list[SSAValue] = []
        for kind in self._kinds:
            value = next(given)
            dims = list(dims_of(value.type))
            if kind is _Kind.FLAT:
                names = fresh_symbols(self._op, dims_of((shape := next(given)).type)[0].value)
                self._rewriter.insert(graph.BindSizesOp(shape, names))
                value = emit(graph.ReshapeOp(value, [rows, *names]), self._rewriter)
            elif not dims[0].proves_equal(rows):
                limits = [rows, *dims[1:]]
                cut = graph.SliceOp(value, [0] * len(dims), limits, [1] * len(dims))
                value = emit(cut, self._rewriter)
            found.append(value)
        return found

    def _flat(self, value: SSAValue, *, at: int) -> Sequence[SSAValue]:
        """
        Collect the concatenated elements, and the shape of the last row, for shapes known in an iteration
        only.
        """
        dims = dims_of(tensor_of(value))
        if any(dim.is_unknown for dim in dims):
            self._dims(value)  # raises
        elements = self._body.emit(graph.ReshapeOp(value, [prod(dims, start=Dim.of(1))]))
        initial = self.grow_along(elements, at=at)
        zeros = self._lowering.constant(np.zeros(len(dims), np.int64), self._rewriter)
        self._body.block.insert_arg(zeros.type, at + 1)
        self.next_values.append(self._body.emit(graph.ExtentsOp(dims)))
        return [initial, zeros]

    def add(self, value: SSAValue, rows: Dim, number: SSAValue, *, at: int, axis: int = 0) -> SSAValue:
        """
        Let a value of an iteration be row `number` of a tensor with `rows` rows along an axis.

        Args: `at` is the position of the body's new argument.
        Returns: the tensor before the loop, zeros.
        """
        dims = self._dims(value)
        initial = self._zeros(value, [*dims[:axis], rows, *dims[axis:]])
        carried = self._body.block.insert_arg(initial.type, at)
        row = self._body.emit(graph.ExpandDimsOp(value, [axis]))
        offsets = [self._offset(number) if i == axis else Dim.of(0) for i in range(len(dims) + 1)]
        self.next_values.append(self._body.emit(in_bounds(graph.InsertSliceOp(carried, row, offsets))))
        return initial

    def grow(self, value: SSAValue, *, at: int) -> SSAValue:
        """Append a value of an iteration to a tensor as its last row; as `add`."""
        self._dims(value)
        return self.grow_along(self._body.emit(graph.ExpandDimsOp(value, [0])), at=at)

    def grow_along(self, piece: SSAValue, *, at: int) -> SSAValue:
        """Append a tensor of an iteration to an initially empty one, along the first axis; as `add`."""
        dims = dims_of(tensor_of(piece))[1:]
        initial = self._zeros(piece, [Dim.of(0), *dims])
        name = fresh_symbols(self._op, 1)[0]
        self._body.carries.append(name)
        block = self._body.block
        carried = block.insert_arg(tensor_type(tensor_of(piece).element_type, [name, *dims]), at)
        block.insert_arg(IndexType(), len(block.args))
        self.next_values.append(self._body.emit(graph.ConcatOp([carried, piece], 0)))
        return initial

    def _is_known(self, value: SSAValue) -> bool:
        """Whether the shape of a value is known before the loop."""
        dims = dims_of(tensor_of(value))
        return not any(dim.is_unknown or dim.symbols() & self._inside for dim in dims)

    def _dims(self, value: SSAValue) -> tuple[Dim, ...]:
        """
        The dimensions of a row. Raises: StepwellError `unsupported` if they are not known before the loop.
        """
        if not self._is_known(value):
            raise StepwellError(
                "unsupported",
                self._op,
                f"{self._op.op_type}: the size of what is collected is known only inside: {value.type}",
                help=on_open_size(self._op),
            )
        return dims_of(tensor_of(value))

    def _zeros(self, like: SSAValue, dims: list[Dim]) -> SSAValue:
        """A tensor of zeros before the loop."""
        zero = self._lowering.scalar(0, tensor_of(like).element_type, self._rewriter)
        return emit(graph.FullOp(zero, dims), self._rewriter)

    def _offset(self, number: SSAValue) -> Dim:
        """The number of an iteration as a symbol, which the body binds."""
        if number not in self._bound:
            name = fresh_symbols(self._op, 1)[0]
            self._body.emit(graph.BindSizesOp(number, [name]))
            self._bound[number] = Dim.symbol(name)
        return self._bound[number]


def rows_of(lowering: RegionLowering, op: onnx.OnnxOp, count: SSAValue, rewriter: PatternRewriter) -> Dim:
    """A number of iterations as a dimension: a number, an expression, or a symbol bound at run time."""
    dims = lowering.known_dims(count)
    if dims is not None and len(dims) == 1 and not dims[0].is_unknown:
        return dims[0].maximum(0)
    zero = lowering.scalar(0, i64, rewriter)
    name = fresh_symbols(op, 1)[0]
    rewriter.insert(graph.BindSizesOp(emit(graph.MaximumOp(count, zero), rewriter), [name]))
    return Dim.symbol(name)
