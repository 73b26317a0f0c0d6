"""Numpy meanings of reductions: to a number, to a position, running, to a distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.floats import Numbers, is_float, through_f32, wide

Axes: TypeAlias = tuple[int, ...]


def _lowest(dtype: np.dtype[Any]) -> float:
    return -np.inf if is_float(dtype) else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype[Any]) -> float:
    return np.inf if is_float(dtype) else int(np.iinfo(dtype).max)


def _sum(x: Numbers, axes: Axes) -> Numbers:
    return np.sum(x, axis=axes, keepdims=True, dtype=x.dtype)


def _mean(x: Numbers, axes: Axes) -> Numbers:
    count = int(np.prod([x.shape[axis] for axis in axes]))
    if is_float(x.dtype):
        return _sum(x, axes) / x.dtype.type(count)
    total = np.sum(x, axis=axes, keepdims=True, dtype=np.uint64 if x.dtype.kind == "u" else np.int64)
    quotient = np.abs(total) // max(count, 1)
    return np.where(total < 0, -quotient, quotient).astype(x.dtype)


def _root(x: Numbers) -> Numbers:
    return np.sqrt(x if is_float(x.dtype) else x.astype(np.float64)).astype(x.dtype)


def _max(x: Numbers, axes: Axes) -> Numbers:
    return np.max(x, axis=axes, keepdims=True, initial=_lowest(x.dtype))


def _log_sum_exp(x: Numbers, axes: Axes) -> Numbers:
    top = _max(x, axes)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    return np.log(_sum(np.exp(x - top), axes)) + top


_REDUCTIONS: Mapping[str, Callable[[Numbers, Axes], Numbers]] = {
    "sum": _sum,
    "prod": lambda x, axes: np.prod(x, axis=axes, keepdims=True, dtype=x.dtype),
    "max": _max,
    "min": lambda x, axes: np.min(x, axis=axes, keepdims=True, initial=_highest(x.dtype)),
    "mean": _mean,
    "sum_square": lambda x, axes: _sum(x * x, axes),
    "l1": lambda x, axes: _sum(np.abs(x), axes),
    "l2": lambda x, axes: _root(_sum(x * x, axes)),
    "log_sum_exp": _log_sum_exp,
    "and": lambda x, axes: np.all(x, axis=axes, keepdims=True),
    "or": lambda x, axes: np.any(x, axis=axes, keepdims=True),
}


@meaning("graph.reduce")
@through_f32
def reduce(x: Numbers, kind: str, axes: Axes, keep_dims: bool) -> Numbers:
    """A reduction of `kind` over some axes."""
    result = np.asarray(_REDUCTIONS[kind](x, axes))
    return result if keep_dims else result.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _arg_reduce(
    choose: Callable[..., Numbers], x: Numbers, axis: int, keep_dims: bool, select_last: bool
) -> Numbers:
    x = wide(x)
    if select_last:
        # NaN is extreme wherever it is, and the first one counts.
        last = x.shape[axis] - 1 - choose(np.flip(x, axis), axis=axis, keepdims=True)
        nan = np.isnan(x).any(axis=axis, keepdims=True) if is_float(x.dtype) else np.False_
        last = np.where(nan, choose(x, axis=axis, keepdims=True), last)
        found = np.asarray(last, np.int64)
    else:
        found = np.asarray(choose(x, axis=axis, keepdims=True), np.int64)
    return found if keep_dims else found.squeeze(axis)


@meaning("graph.argmax")
def argmax(x: Numbers, axis: int, keep_dims: bool, select_last: bool) -> Numbers:
    """The index of the maximum along an axis; NaN is the maximum."""
    return _arg_reduce(np.argmax, x, axis, keep_dims, select_last)


@meaning("graph.argmin")
def argmin(x: Numbers, axis: int, keep_dims: bool, select_last: bool) -> Numbers:
    """The index of the minimum along an axis; NaN is the minimum."""
    return _arg_reduce(np.argmin, x, axis, keep_dims, select_last)


_SCANS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@meaning("graph.scan")
@through_f32
def scan(x: Numbers, kind: str, axis: int, exclusive: bool, reverse: bool) -> Numbers:
    """A running sum, product, maximum or minimum; `exclusive` leaves out the element itself."""
    x = np.flip(x, axis) if reverse else x
    result = _SCANS[kind].accumulate(x, axis=axis, dtype=x.dtype)
    if exclusive:
        start = {"sum": 0, "prod": 1, "max": _lowest(x.dtype), "min": _highest(x.dtype)}[kind]
        first = np.full_like(np.take(x, [0], axis), start) if x.shape[axis] else x
        result = np.concatenate([first, np.delete(result, -1, axis)], axis) if x.shape[axis] else result
    return np.flip(result, axis) if reverse else result


@meaning("graph.softmax")
@through_f32
def softmax(x: Numbers, axis: int) -> Numbers:
    """Softmax along an axis, with the maximum subtracted first against overflow."""
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return powers / _sum(powers, (axis,))


@meaning("graph.log_softmax")
@through_f32
def log_softmax(x: Numbers, axis: int) -> Numbers:
    """The logarithm of softmax along an axis."""
    shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(_sum(np.exp(shifted), (axis,)))
