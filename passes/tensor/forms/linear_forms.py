"""Products of small constant matrices with vectors of values, as straight-line code with few operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from xdsl.dialects import arith, vector
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.transfers import vector_of
from stepwell.passes.tensor.forms.structured_ops import plus, times
from stepwell.runtime.winograd import Matrix

Terms = Mapping[int, Fraction]
"""Coefficients by the index of the value that they multiply; zeros left out."""


def apply_matrix(emit: IRBuilder, matrix: Matrix, values: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The product of a matrix of numbers with values of one vector type: a sum for each row.

    Rows that differ only in signs share their common parts, `(e + o, e - o)`; likewise columns, whose sum and
    difference serve all rows. Source: the even and odd parts of Lavin & Gray 2015.
    """
    values = list(values)
    rows: list[Terms] = [{k: c for k, c in enumerate(row) if c} for row in matrix]
    # Columns first: each opposed pair is replaced by its sum and difference.
    for j, k in _opposed_columns(rows):
        total, difference = plus(emit, values[j], values[k]), _subtract(emit, values[j], values[k])
        values += [total, difference]
        rows = [_merged(row, j, k, len(values) - 2) for row in rows]
    results: dict[int, SSAValue] = {}
    # Then rows: an opposed pair is computed as its even and odd parts.
    for r, row in enumerate(rows):
        if r in results:
            continue
        partner = next((s for s in range(r + 1, len(rows)) if _opposed(row, rows[s])), None)
        if partner is None:
            results[r] = _sum(emit, row, values)
            continue
        even = _sum(emit, {k: c for k, c in row.items() if rows[partner][k] == c}, values)
        odd = _sum(emit, {k: c for k, c in row.items() if rows[partner][k] != c}, values)
        results[r], results[partner] = plus(emit, even, odd), _subtract(emit, even, odd)
    return [results[r] for r in range(len(rows))]


def _opposed(a: Terms, b: Terms) -> bool:
    """
    Whether two rows have coefficients of the same magnitudes, some with equal and some with opposite signs.
    """
    if a.keys() != b.keys() or any(abs(a[k]) != abs(b[k]) for k in a):
        return False
    return len({a[k] == b[k] for k in a}) == 2


def _opposed_columns(rows: Sequence[Terms]) -> list[tuple[int, int]]:
    """Disjoint pairs of opposed columns."""
    columns: dict[int, dict[int, Fraction]] = {}
    for r, row in enumerate(rows):
        for k, c in row.items():
            columns.setdefault(k, {})[r] = c
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    for j in sorted(columns):
        for k in sorted(columns):
            if j < k and not {j, k} & taken and len(columns[j]) > 2 and _opposed(columns[j], columns[k]):
                pairs.append((j, k))
                taken |= {j, k}
    return pairs


def _merged(row: Terms, j: int, k: int, total: int) -> Terms:
    """
    A row over the sum (at index `total`) or the difference (after it) of columns j and k instead of the two.
    """
    if j not in row:
        return row
    index = total if row[j] == row[k] else total + 1
    return {**{i: c for i, c in row.items() if i not in (j, k)}, index: row[j]}


def _sum(emit: IRBuilder, terms: Terms, values: Sequence[SSAValue]) -> SSAValue:
    """The sum of products of a row, beginning with a term of coefficient 1 if possible."""
    first = next((k for k, c in terms.items() if c == 1), None)
    if first is None:
        first = next(iter(terms))
        total = times(emit, values[first], _splat(emit, values[first], terms[first]))
    else:
        total = values[first]
    for k, c in terms.items():
        if k == first:
            continue
        if abs(c) == 1:
            total = plus(emit, total, values[k]) if c == 1 else _subtract(emit, total, values[k])
        else:
            operands = [values[k], _splat(emit, values[k], c), total]
            total = emit.value(vector.FMAOp.create(operands=operands, result_types=[total.type]))
    return total


def _splat(emit: IRBuilder, like: SSAValue, number: Fraction) -> SSAValue:
    """A constant vector of a number in all lanes, of the type of `like`."""
    return emit.number(float(number), vector_of(like))


def _subtract(emit: IRBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit.value(arith.SubfOp(a, b))
