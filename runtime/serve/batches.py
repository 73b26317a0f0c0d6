"""Batches: requests of equal sizes are joined along the leading dimension, run as one call, and split."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, Interface

Call: TypeAlias = Callable[[Sequence[Array]], Sequence[Array]]
"""A model: its inputs in order to its outputs."""

_TOLERANCE = {2: 2e-2, 4: 1e-3, 8: 1e-6}
"""The relative difference that other tiles make, by the bytes of an element."""


def batch_symbol(interface: Interface) -> str | None:
    """
    The symbol that is the first size of all inputs and outputs and occurs in no other size; None if there is
    none.

    An interface does not say whether samples are independent: see `Joined`.
    """
    specs = (*interface.inputs, *interface.outputs)
    if not interface.inputs or not all(spec.dims for spec in specs):
        return None
    first = interface.inputs[0].dims[0]
    symbol = str(first)
    if first.is_static or symbol not in first.symbols() or any(spec.dims[0] != first for spec in specs):
        return None
    others = (dim for spec in specs for dim in spec.dims[1:])
    return None if any(symbol in dim.symbols() for dim in others) else symbol


class Waiting(NamedTuple):
    """A request in the queue: inputs, a token of the sender, and the time of arrival."""

    inputs: Sequence[Array]
    token: Hashable
    arrived: float

    @property
    def samples(self) -> int:
        """The leading dimension of its inputs."""
        return self.inputs[0].shape[0] if self.inputs and self.inputs[0].ndim else 1

    @property
    def kind(self) -> Hashable:
        """The sizes that requests of one batch share."""
        return tuple(array.shape[1:] for array in self.inputs)


class BatchQueue:
    """
    Requests that wait for their batch, each at most `delay` seconds from its arrival.

    Times are arguments: the queue has no clock. A batch has requests of equal sizes beyond the leading one,
    in the order of arrival.
    """

    def __init__(self, *, max_batch: int, delay: float, bound: int):
        """Args: `max_batch` in samples, 1 for none; `bound` is the most requests that wait."""
        self._max_batch = max_batch
        self._delay = delay if max_batch > 1 else 0.0
        self._bound = bound
        self._by_kind: dict[Hashable, deque[Waiting]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, request: Waiting) -> bool:
        """Append a request; False where the queue is full. All inputs have the same leading dimension."""
        if self._length >= self._bound:
            return False
        self._by_kind.setdefault(request.kind, deque()).append(request)
        self._length += 1
        return True

    def take(self, now: float) -> list[Waiting]:
        """The batch to run now: of those that are full or have waited long enough the oldest; else empty."""
        ready = [waiting for waiting in self._by_kind.values() if self._due(waiting) <= now]
        if not ready:
            return []
        waiting = min(ready, key=lambda queue: queue[0].arrived)
        batch = [waiting.popleft() for _ in range(self._fitting(waiting))]
        self._length -= len(batch)
        if not waiting:
            del self._by_kind[batch[0].kind]
        return batch

    def stop_batching(self) -> None:
        """Let each request be a batch of its own from here on."""
        self._max_batch, self._delay = 1, 0.0

    def next_due(self) -> float | None:
        """The time at which a batch is ready; None for an empty queue."""
        return min(map(self._due, self._by_kind.values()), default=None)

    def _due(self, waiting: deque[Waiting]) -> float:
        is_full = self._fitting(waiting) < len(waiting) or waiting[0].samples >= self._max_batch
        full = is_full or sum(request.samples for request in waiting) >= self._max_batch
        return waiting[0].arrived + (0.0 if full else self._delay)

    def _fitting(self, waiting: deque[Waiting]) -> int:
        """The number of requests in the next batch; a request larger than a batch is a batch by itself."""
        samples = 0
        for count, request in enumerate(waiting):
            samples += request.samples
            if count and samples > self._max_batch or count == self._max_batch:
                return count
        return len(waiting)


class Joined:
    """
    A model on several requests at once.

    Samples along an open leading dimension need not be independent: it can be the time of a sequence, or be
    normalized over. So the first batches are computed in two ways, as one call and one by one. A difference
    above rounding ends batching for the model, and the results of single calls are used.
    """

    def __init__(self, call: Call, distrusted: Callable[[], None], *, checked_batches: int = 3):
        """Args: `distrusted` is called when batches turn out to differ; `checked_batches` are compared."""
        self._call = call
        self._distrusted = distrusted
        self._to_check = checked_batches
        self.is_trusted = True

    def run(self, members: Sequence[Sequence[Array]]) -> list[Sequence[Array] | Exception]:
        """The outputs of each member, or its error: a member that fails does not fail the others."""
        if len(members) == 1 or not self.is_trusted:
            return [self._single(inputs) for inputs in members]
        try:
            found = self._joined(members)
        except Exception:  # whichever member it is of
            return [self._single(inputs) for inputs in members]
        if self._to_check == 0 or not _differ(members):
            return list(found)
        singles = [self._single(inputs) for inputs in members]
        self._to_check -= 1
        if not all(_is_same(a, b) for a, b in zip(found, singles, strict=True)):
            self.is_trusted = False
            self._distrusted()
        return singles

    def _single(self, inputs: Sequence[Array]) -> Sequence[Array] | Exception:
        try:
            return self._call(inputs)
        except Exception as error:
            return error

    def _joined(self, members: Sequence[Sequence[Array]]) -> list[Sequence[Array]]:
        outputs = self._call([np.concatenate(arrays) for arrays in zip(*members, strict=True)])
        ends = np.cumsum([inputs[0].shape[0] for inputs in members]).tolist()
        if any(not array.ndim or len(array) != ends[-1] for array in outputs):
            raise StepwellError("shape-mismatch", None, "the outputs of a batch cannot be split")
        begins = [0, *ends[:-1]]
        return [[array[b:e] for array in outputs] for b, e in zip(begins, ends, strict=True)]


def _differ(members: Sequence[Sequence[Array]]) -> bool:
    """Whether members have different values: a comparison on equal ones shows little."""
    first = members[0]
    return any(not all(map(np.array_equal, first, other)) for other in members[1:])


def _is_same(joined: Sequence[Array] | Exception, single: Sequence[Array] | Exception) -> bool:
    if isinstance(joined, Exception) or isinstance(single, Exception):
        return False
    return all(map(_is_close, joined, single))


def _is_close(a: Array, b: Array) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "biuO" or a.size == 0:
        return bool(np.array_equal(a, b))
    left, right = (
        np.asarray(each, np.complex128 if each.dtype.kind == "c" else np.float64) for each in (a, b)
    )
    largest = cast(float, np.max(np.abs(right[np.isfinite(right)]), initial=0.0))
    tolerance = _TOLERANCE.get(a.dtype.itemsize, 1e-3)
    return bool(np.allclose(left, right, rtol=tolerance, atol=tolerance * largest, equal_nan=True))
