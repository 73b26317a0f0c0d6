"""`TfIdfVectorizer` of integers → `graph`: n-grams are found item by item in sorted tables, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_integer
from stepwell.lowering.onnx_to_graph.constant_tables import Table, constant_table, found_in
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, has_strings, shape_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class TfIdfVectorizerLowering(OnnxLowering):
    """
    `TfIdfVectorizer` of integers in rows of known length → a count for each n-gram of a pool.

    ```mlir
    // Of the pool 5, 7, (5, 7): each item is looked up, then each pair of numbers of a prefix and an item.
    %1 = binary search of %x in [5, 7], 2 where it is not there
    %2 = graph.gather %1 …                       // the first items of all windows
    %3 = graph.gather %1 …                       // the second items
    %4 = %2 * 3 + %3
    %5 = binary search of %4 in [1]
    %y = graph.scatter_elements %zeros, %5, … axis 1 combine "add"
    ```
    Strings, and rows of open length, are left to the host.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TfIdfVectorizerOp, rewriter: PatternRewriter) -> None:
        """Count the n-grams of each length and step, and scale them by the mode."""
        dims = shape_of(op.X, op)
        if has_strings(op) or op.has("pool_strings") or not is_integer(element_of(op.X)):
            return
        if not dims or not dims[-1].is_static:
            return
        at = Formula(self, rewriter)
        rows = Dim.of(1) if len(dims) == 1 else dims[0]
        counter = _Counter(_Pool.of(op), at.value(op.X).cast(i64).reshape([rows, dims[-1]]))
        counts = counter.counts(op.integer("max_skip_count"))
        scaled = _scaled(op, counts)
        rewriter.replace(op, [], [scaled.reshape([*dims[:-1], scaled.dims[-1]]).ssa])


def _scaled(op: onnx.TfIdfVectorizerOp, counts: Value) -> Value:
    """Counts by the mode: as they are, or at most 1, times the weights of the n-grams."""
    mode = op.string("mode")
    frequency = counts.minimum(1.0) if mode == "IDF" else counts
    if mode == "TF" or not op.has("weights"):
        return frequency
    scale = np.ones(counts.dims[-1].value, np.float32)
    scale[list(op.integers("ngram_indexes"))] = op.floats("weights")
    return frequency * constant_table(counts.formula, scale)


def _wrong(op: onnx.OnnxOp, message: str) -> StepwellError:
    return StepwellError("invalid-model", op, f"TfIdfVectorizer: {message}")


@dataclass(frozen=True)
class _Pool:
    """The n-grams to count, by length, each with its column of the result; and the number of columns."""

    columns: dict[int, dict[tuple[int, ...], int]]
    width: int

    @staticmethod
    def of(op: onnx.TfIdfVectorizerOp) -> _Pool:
        """The pool of an operator; lengths out of its range are not counted."""
        items, indexes = op.integers("pool_int64s"), op.integers("ngram_indexes")
        begins = op.integers("ngram_counts")
        counted = range(op.integer("min_gram_length"), op.integer("max_gram_length") + 1)
        columns: dict[int, dict[tuple[int, ...], int]] = {}
        number = 0
        for length, (begin, end) in enumerate(zip(begins, [*begins[1:], len(items)], strict=True), 1):
            grams = [tuple(items[i : i + length]) for i in range(begin, end, length)]
            if any(len(gram) < length for gram in grams) or (end - begin) % length:
                raise _wrong(op, f"ngram_counts {list(begins)} do not divide {len(items)} items")
            if length in counted and grams:
                columns[length] = dict(zip(grams, indexes[number : number + len(grams)], strict=False))
            number += len(grams)
        if number != len(indexes) or any(index < 0 for index in indexes):
            raise _wrong(op, f"{number} n-grams need as many ngram_indexes from 0 on, found {list(indexes)}")
        return _Pool(columns, max(indexes, default=-1) + 1)


@dataclass(frozen=True)
class _Counter:
    """
    The counts of a pool's n-grams in rows of items.

    Each prefix of an n-gram has a number. A pair of a prefix's and an item's number is one number, which a
    table of the longer prefixes contains or not: a trie, of which each level is a sorted table.
    """

    pool: _Pool
    rows: Value

    def counts(self, max_skip_count: int) -> Value:
        """The counts [rows, columns] in f32."""
        at = self.rows.formula
        total = at.full(0.0, [self.rows.dims[0], Dim.of(self.pool.width)], f32)
        vocabulary = sorted({item for grams in self.pool.columns.values() for gram in grams for item in gram})
        if not vocabulary:
            return total
        items = _numbered(np.array(vocabulary), self.rows)
        for size, columns in self.pool.columns.items():
            windows = _windows(self.rows.dims[1].value, size, max_skip_count)
            if windows.size:
                grams = [tuple(vocabulary.index(item) for item in gram) for gram in columns]
                number = _found(grams, [_taken(items, place) for place in windows], len(vocabulary))
                total = _counted(total, number, [columns[gram] for gram in sorted(columns)])
        return total


def _windows(length: int, size: int, skips: int) -> Table:
    """
    The positions [size, windows] of the items of each window in a row; windows of one item have no skips.
    """
    steps = range(1, 2 if size == 1 else skips + 2)
    starts = [(start, step) for step in steps for start in range(length - (size - 1) * step)]
    return np.array([[start + i * step for start, step in starts] for i in range(size)], np.int64)


def _taken(items: Value, places: Table) -> Value:
    return items.gather(constant_table(items.formula, places), 1)


def _found(grams: Sequence[tuple[int, ...]], items: Sequence[Value], vocabulary: int) -> Value:
    """The position of each window of items among the sorted n-grams; their number for another window."""
    number = items[0]
    if len(items) == 1:
        positions = np.full(vocabulary + 1, len(grams))
        positions[sorted(item for (item,) in grams)] = np.arange(len(grams))
        return constant_table(number.formula, positions).gather(number, 0)
    prefixes = [(item,) for item in range(vocabulary)]
    for size in range(2, len(items) + 1):
        place = {prefix: i * (vocabulary + 1) for i, prefix in enumerate(prefixes)}
        prefixes = sorted({gram[:size] for gram in grams})
        pairs = np.array([place[gram[:-1]] + gram[-1] for gram in prefixes])
        number = _numbered(pairs, number * (vocabulary + 1) + items[size - 1])
    return number


def _numbered(table: Table, number: Value) -> Value:
    """The positions of numbers in a sorted table; the table's length for numbers that are absent."""
    position, is_there = found_in(table.astype(np.int64), number)
    return number.formula.where(is_there, position, len(table))


def _counted(total: Value, number: Value, columns: Sequence[int]) -> Value:
    """Counts with 1 added in the column of each n-gram that was found."""
    table = constant_table(total.formula, np.array(columns, np.int64))
    ones = (number < len(columns)).cast(f32)
    update = graph.ScatterElementsOp(total.ssa, table.gather(number, 0).ssa, ones.ssa, 1, combine="add")
    return total.formula.op(update)
