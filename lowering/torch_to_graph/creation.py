"""Values that are made of numbers alone."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64, i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dtype_of
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.promotion import number
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


def _full(call: Call, value: Value) -> Value:
    return call.at.op(graph.FullOp(value.ssa, call.dims))


@converts("full.default", "full_like.default", "new_full.default")
def full(call: Call) -> Value:
    """A number everywhere."""
    return _full(call, number(call, "fill_value", call.element))


@converts("scalar_tensor.default")
def scalar_tensor(call: Call) -> Value:
    """A number."""
    return number(call, "s", call.element)


@converts("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "zero.default")
@converts("empty_like.default", "new_empty.default", "empty_strided.default", "new_empty_strided.default")
@converts("empty_permuted.default")
def zeros(call: Call) -> Value:
    """Zeros; memory that a program leaves uninitialized is zero too."""
    return _full(call, call.at.number(0, call.element))


@converts("ones.default", "ones_like.default", "new_ones.default")
def ones(call: Call) -> Value:
    """Ones."""
    return _full(call, call.at.number(1, call.element))


@converts("arange.default", "arange.start", "arange.start_step")
def arange(call: Call) -> Value:
    """Numbers in equal steps."""
    (size,) = call.dims
    start, step = (
        call.value(name) if call.has(name) else default for name, default in (("start", 0), ("step", 1))
    )
    computed = f64 if call.element == f64 else call.element if is_float(call.element) else i64
    count = call.at.iota(size, i64).cast(computed)
    if step != 1:
        count = count * number(call, "step", computed)
    if start != 0:
        count = count + number(call, "start", computed)
    return count.cast(call.element)


@converts("linspace.default")
def linspace(call: Call) -> Value:
    """Numbers from a start to an end, counted from the nearer of both."""
    count = call.integer("steps")
    first, last = call.number("start"), call.number("end")
    dtype = dtype_of(call.element)
    return call.at.constant(np.linspace(first, last, count).astype(dtype))


@converts("eye.default", "eye.m")
def eye(call: Call) -> Value:
    """Ones on the diagonal."""
    rows, columns = call.dims
    at = call.at
    return at.iota(rows, i64).unsqueeze(1).equals(at.iota(columns, i64)).cast(call.element)


@converts("tril.default", "triu.default")
def triangle(call: Call) -> Value:
    """Zeros above, or below, a diagonal."""
    x = call.tensor()
    inside = _triangle(call, x.dims[-2], x.dims[-1], call.integer("diagonal"))
    zero = call.at.full(0, x.dims, x.element)
    return call.at.where(inside, x, zero)


def _triangle(call: Call, rows: Dim, columns: Dim, diagonal: int) -> Value:
    """Whether a place is in the lower or upper triangle."""
    at = call.at
    row, column = at.iota(rows, i64).unsqueeze(1) + diagonal, at.iota(columns, i64)
    return column <= row if "tril" in call.op.SIGNATURE.name else column >= row


@converts("one_hot.default")
def one_hot(call: Call) -> Value:
    """Ones at indices along a new last axis."""
    x, count = call.tensor(), call.dims[-1]
    return x.unsqueeze(x.rank).equals(call.at.iota(count, x.element)).cast(call.element)


@converts("rand.default", "randn.default", "rand_like.default", "randn_like.default", "bernoulli.default")
@converts("bernoulli.p", "randint.default", "randint.low", "randperm.default", "multinomial.default")
@converts("normal_functional.default", "uniform.default", "rrelu_with_noise_functional.default")
def random(call: Call) -> Value:
    """Refused: a compiled program has no generator of random numbers."""
    raise call.unsupported("random numbers", "call .eval() on the module, or give the numbers as an input")


@converts("diag.default", "diagonal.default", "diag_embed.default")
def diagonal(call: Call) -> Value:
    """The diagonal of a matrix, or a matrix with a diagonal."""
    x, at = call.tensor(), call.at
    offset = call.integer("diagonal" if call.has("diagonal") else "offset")
    title = call.op.SIGNATURE.name
    if "diag_embed" in title or ("diag." in title and x.rank == 1):
        return _with_diagonal(call, x, offset)
    first, second = (call.axis("dim1"), call.axis("dim2")) if call.has("dim1") else (0, 1)
    others = [axis for axis in range(x.rank) if axis not in (first, second)]
    moved = x.transpose([*others, first, second])
    count = call.dims[-1]
    flat = moved.reshape([*moved.dims[:-2], moved.dims[-2] * moved.dims[-1]])
    row = at.iota(count, i64) + max(-offset, 0)
    column = at.iota(count, i64) + max(offset, 0)
    return flat.gather(row * at.extent(moved.dims[-1], i64) + column, flat.rank - 1)


def _with_diagonal(call: Call, x: Value, offset: int) -> Value:
    """A matrix for each row of a value, which is its diagonal."""
    at, rank = call.at, x.rank + 1
    rows, columns = (call.axis("dim1", rank), call.axis("dim2", rank)) if call.has("dim1") else (0, 1)
    size = call.dims[columns]
    index = at.iota(size, i64)
    on = (index.unsqueeze(1) + offset).equals(index)
    source = (index - max(offset, 0)).maximum(0)
    length = at.extent(x.dims[-1], i64)
    spread = x.gather(source.minimum(length - 1), x.rank - 1).unsqueeze(x.rank - 1)
    made = at.where(on, spread, at.full(0, [*x.dims[:-1], size, size], x.element))
    order = [*(axis for axis in range(rank) if axis not in (rows, columns)), rows, columns]
    return made.transpose([order.index(axis) for axis in range(rank)])


@converts("tril_indices.default", "triu_indices.default")
def triangle_indices(call: Call) -> Value:
    """Rows and columns of the places in a triangle."""
    rows, columns, offset = call.integer("row"), call.integer("col"), call.integer("offset")
    is_lower = "tril" in call.op.SIGNATURE.name
    found = np.tril_indices(rows, offset, columns) if is_lower else np.triu_indices(rows, offset, columns)
    return call.at.constant(np.stack(found).astype(dtype_of(call.element)))
