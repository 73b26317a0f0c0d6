"""Operators on tensors of strings, arrays of Python objects that only the host reads and writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

_STRINGS = np.dtype(object)


def _mapped(function: Callable[[str], object], dtype: np.dtype[np.generic], x: Array) -> Array:
    """The array of a function's results for each string."""
    values = [function(_text(value)) for value in x.reshape(-1)]
    return np.array(values, _STRINGS).astype(dtype).reshape(x.shape)


def _paired(function: Callable[[str, str], object], dtype: np.dtype[np.generic], a: Array, b: Array) -> Array:
    """The array of a function's results for pairs of strings; the operands broadcast."""
    left, right = np.broadcast_arrays(np.asarray(a, _STRINGS), np.asarray(b, _STRINGS))
    pairs = zip(left.reshape(-1), right.reshape(-1), strict=True)
    values = [function(_text(x), _text(y)) for x, y in pairs]
    return np.array(values, _STRINGS).astype(dtype).reshape(left.shape)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@meaning("host.strings")
def strings(*, values: Sequence[str], shape: Sequence[int]) -> Array:
    """A constant tensor of strings."""
    return np.array(values, _STRINGS).reshape(shape)


@meaning("host.string_concat")
def string_concat(a: Array, b: Array) -> Array:
    """The concatenation of pairs of strings."""
    return _paired(lambda x, y: x + y, _STRINGS, a, b)


@meaning("host.string_equal")
def string_equal(a: Array, b: Array) -> Array:
    """Whether strings are the same."""
    return _paired(lambda x, y: x == y, np.dtype(np.bool_), a, b)


@meaning("host.regex_full_match")
def regex_full_match(x: Array, *, pattern: str) -> Array:
    """
    Whether the whole string matches; ONNX says RE2; Python's syntax is the same for patterns that both have.
    """
    compiled = re.compile(pattern)
    return _mapped(lambda s: compiled.fullmatch(s) is not None, np.dtype(np.bool_), x)


@meaning("host.string_split")
def string_split(x: Array, *, delimiter: str, maxsplit: int) -> tuple[Array, Array]:
    """The parts of each string along a new last axis, padded with empty strings, and the number of parts."""
    parts = [_text(s).split(delimiter or None, maxsplit) for s in x.reshape(-1)]
    width = max(map(len, parts), default=0)
    padded = [[*row, *[""] * (width - len(row))] for row in parts]
    counts = np.array(list(map(len, parts)), np.int64).reshape(x.shape)
    return np.array(padded, _STRINGS).reshape((*x.shape, width)), counts


@meaning("host.tokenizer")
def tokenizer(
    x: Array, *, separators: Sequence[str], tokenexp: str, mincharnum: int, pad_value: str, mark: int
) -> Array:
    """
    The tokens of each string along a new last axis, padded: matches, text between separators, or characters.
    """
    if separators == [""]:
        parts = [list(_text(s)) for s in x.reshape(-1)]
    elif tokenexp:
        parts = [[found.group() for found in re.finditer(tokenexp, _text(s))] for s in x.reshape(-1)]
    else:
        between = re.compile("|".join(f"(?:{separator})" for separator in separators))
        parts = [between.split(_text(s)) for s in x.reshape(-1)]
    kept = [[part for part in row if len(part) >= max(mincharnum, 1)] for row in parts]
    if mark and any(kept):
        kept = [["\x02", *row, "\x03"] for row in kept]
    width = max(map(len, kept), default=0)
    padded = [[*row, *[pad_value] * (width - len(row))] for row in kept]
    return np.array(padded, _STRINGS).reshape((*x.shape, width))


@meaning("host.string_normalizer")
def string_normalizer(x: Array, *, case: str, is_case_sensitive: int, stopwords: Sequence[str]) -> Array:
    """The strings in one case, without the stop words; if none is left, a single empty string."""
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(case, str)
    left_out = set(stopwords if is_case_sensitive else map(str.lower, stopwords))

    def stays(word: str) -> bool:
        return (word if is_case_sensitive else word.lower()) not in left_out

    words = [_text(s) for s in x.reshape(-1)]
    kept = [change(word) for word in words if stays(word)] or [""]
    return np.array(kept, _STRINGS).reshape((1, -1) if x.ndim == 2 else (-1,))


@meaning("host.string_to_number")
def string_to_number(x: Array, *, to: np.dtype[np.generic]) -> Array:
    """Numbers in decimal or scientific notation; `inf` and `nan` in any case."""
    return _mapped(int if to.kind in "iu" else float, to, x)


@meaning("host.number_to_string")
def number_to_string(x: Array) -> Array:
    """
    The shortest decimal text of each number that parses to the same number; integers and truth values as in
    Python.
    """
    return np.array([str(value) for value in x.reshape(-1)], _STRINGS).reshape(x.shape)


@meaning("host.positions")
def positions(x: Array) -> Array:
    """The index of each element in row-major order."""
    return np.arange(x.size, dtype=np.int64).reshape(x.shape)


@meaning("host.string_where")
def string_where(condition: Array, a: Array, b: Array) -> Array:
    """Strings selected from two tensors by a condition."""
    return np.where(condition, np.asarray(a, _STRINGS), np.asarray(b, _STRINGS))


@meaning("host.tf_idf")
def tf_idf(
    x: Array,
    *,
    mode: str,
    min_gram_length: int,
    max_gram_length: int,
    max_skip_count: int,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool: Sequence[object],
    weights: Sequence[float],
) -> Array:
    """
    The number of occurrences of each n-gram of a pool in a row, as skip-grams with up to `max_skip_count`
    skips.
    """
    grams: dict[tuple[object, ...], int] = {}
    ends = [*ngram_counts[1:], len(pool)]
    number = 0
    for length, (begin, end) in enumerate(zip(ngram_counts, ends, strict=True), start=1):
        for at in range(begin, end, length):
            if min_gram_length <= length <= max_gram_length:
                grams[tuple(pool[at : at + length])] = number
            number += 1
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    counts = np.zeros((len(rows), max(ngram_indexes, default=-1) + 1), np.float32)
    for row, items in enumerate(rows.tolist()):
        for gram in _skip_grams(items, min_gram_length, max_gram_length, max_skip_count):
            if gram in grams:
                counts[row, ngram_indexes[grams[gram]]] += 1
    scale = np.ones(counts.shape[1], np.float32)
    if len(weights):
        scale[np.array(ngram_indexes)] = np.array(weights, np.float32)
    frequency = counts if mode != "IDF" else np.minimum(counts, 1)
    result = frequency if mode == "TF" else frequency * scale
    return result[0] if x.ndim < 2 else result


def _skip_grams(items: Sequence[object], least: int, most: int, skips: int) -> list[tuple[object, ...]]:
    """The skip-grams of a row for all lengths and skips; 1-grams, which have nothing to skip, occur once."""
    found: list[tuple[object, ...]] = []
    for length in range(least, most + 1):
        for step in range(1, 2 if length == 1 else skips + 2):
            reach = (length - 1) * step
            starts = range(len(items) - reach)
            found += [tuple(items[start : start + reach + 1 : step]) for start in starts]
    return found


@meaning("host.take_string")
def take_string(index: npt.NDArray[np.int64], *, values: Sequence[str]) -> Array:
    """The string at each position of a list."""
    return np.array(values, _STRINGS)[index]


@meaning("host.take")
def take(x: Array, index: npt.NDArray[np.int64]) -> Array:
    """The element at each position, counted in row-major order."""
    return x.reshape(-1)[index]


@meaning("host.encode_labels")
def encode_labels(x: Array, *, keys: Sequence[object], values: Sequence[object], default: object) -> Array:
    """Maps each element, as a key, to its value; other elements to a default."""
    table = dict(zip(keys, values, strict=True))
    items: list[object] = x.reshape(-1).tolist()
    found = [table.get(_text(item) if isinstance(item, bytes) else item, default) for item in items]
    dtype = _STRINGS if isinstance(default, str) else np.asarray(default).dtype
    return np.array(found, dtype).reshape(x.shape)
