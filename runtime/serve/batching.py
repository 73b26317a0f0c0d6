"""Requests that wait for each other, are joined along the first dimension, and run as one call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeAlias

import numpy as np

from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.serve.protocol import Refusal

Call: TypeAlias = Callable[[Sequence[Array]], tuple[Array, ...]]
"""A call of the model on its inputs in order."""
_QUEUED_BATCHES = 4


class BatchOptions(NamedTuple):
    """The most rows of a call, the longest wait for other requests, the number of calls at once."""

    max_batch: int = 8
    delay_seconds: float = 0.002
    instances: int = 1


class _Waiting(NamedTuple):
    """A request that waits for its batch."""

    inputs: Sequence[Array]
    rows: int
    answer: asyncio.Future[tuple[Array, ...]]


class Batcher:
    """
    The queue of a model. A batch mixes no other dimensions than the first.

    On an error in a batch its members run one by one, so that one that fails alone fails alone.
    """

    def __init__(self, call: Call, is_batched: bool, options: BatchOptions):
        self._call, self._options = call, options
        self._is_batched = is_batched and options.max_batch > 1
        self._threads = ThreadPoolExecutor(options.instances, thread_name_prefix="stepwell-serve")
        self._groups: dict[object, list[_Waiting]] = {}
        self.waiting = 0
        """Requests that have no answer yet."""
        self.calls = 0
        self.bound = _QUEUED_BATCHES * options.max_batch * options.instances

    async def infer(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs for checked inputs. Raises: Refusal 429; as the call does."""
        if self.waiting >= self.bound:
            raise Refusal(429, f"{self.waiting} requests are waiting: try again later")
        self.waiting += 1
        try:
            if not self._is_batched or inputs[0].shape[0] >= self._options.max_batch:
                return await self._run(inputs)
            return await self._joined(inputs)
        finally:
            self.waiting -= 1

    async def _joined(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        loop = asyncio.get_running_loop()
        key = tuple((array.shape[1:], array.dtype) for array in inputs)
        group = self._groups.setdefault(key, [])
        member = _Waiting(inputs, inputs[0].shape[0], loop.create_future())
        if sum(other.rows for other in group) + member.rows > self._options.max_batch:
            self._start(key)
            group = self._groups.setdefault(key, [])
        group.append(member)
        if len(group) == 1:
            loop.call_later(self._options.delay_seconds, self._start, key, group)
        if sum(other.rows for other in group) >= self._options.max_batch:
            self._start(key)
        return await member.answer

    def _start(self, key: object, group: list[_Waiting] | None = None) -> None:
        """Run the group of a key; nothing where it is another one by now than `group`."""
        if group is None or self._groups.get(key) is group:
            task = asyncio.ensure_future(self._run_group(self._groups.pop(key)))
            task.add_done_callback(lambda done: done.exception())

    async def _run_group(self, group: list[_Waiting]) -> None:
        if len(group) == 1:
            await self._run_alone(group[0])
            return
        joined = [np.concatenate(arrays) for arrays in zip(*(member.inputs for member in group), strict=True)]
        try:
            outputs = await self._run(joined)
        except Exception:  # whatever it is, it is one member's
            for member in group:
                await self._run_alone(member)
            return
        ends = np.cumsum([member.rows for member in group])[:-1]
        parts = [np.split(output, ends) for output in outputs]
        for member, *own in zip(group, *parts, strict=True):
            if not member.answer.done():
                member.answer.set_result(tuple(own))

    async def _run_alone(self, member: _Waiting) -> None:
        if member.answer.done():  # its client has gone
            return
        try:
            outputs = await self._run(member.inputs)
        except Exception as error:
            if not member.answer.done():
                member.answer.set_exception(error)
        else:
            if not member.answer.done():
                member.answer.set_result(outputs)

    async def _run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        self.calls += 1
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._call, inputs)

    def close(self) -> None:
        """Wait for calls that run."""
        self._threads.shutdown()


def can_batch(interface: Interface) -> bool:
    """Whether all inputs and outputs have one open size first, and nowhere else."""
    specs = (*interface.inputs, *interface.outputs)
    firsts = {str(spec.dims[0]) if spec.dims else "" for spec in specs}
    if len(firsts) != 1 or not interface.inputs or not all(spec.dims for spec in specs):
        return False
    first = specs[0].dims[0]
    rest = {name for spec in specs for dim in spec.dims[1:] for name in dim.symbols()}
    return str(first) in first.symbols() and str(first) not in rest
