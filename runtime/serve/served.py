"""A served model: queue, threads and counts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from time import perf_counter
from typing import NamedTuple, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.serve.batches import BatchQueue, Joined, Waiting, batch_symbol
from stepwell.runtime.serve.datatypes import datatype_of
from stepwell.runtime.serve.metrics import ModelMetrics
from stepwell.runtime.serve.refused import Refused
from stepwell.runtime.values.program import LimitedProgram

_log = logging.getLogger(__name__)
_QUEUED_BATCHES = 4  # for each instance
_QUICK_SECONDS = 0.5e-3
_KEPT_SIZES = 256


class Batching(NamedTuple):
    """Options of batches: the most samples, the longest wait, and the calls of a model at once."""

    max_batch: int = 8
    delay_ms: float = 2.0
    instances: int = 1


class ServedModel:
    """
    A model with a queue of requests, of which each batch runs in a thread.

    All but the model's calls happens on one event loop.
    """

    def __init__(self, name: str, model: CompiledModel, options: Batching):
        """Raises: StepwellError `unsupported-interface` for states, sequences, maps, programs on data."""
        self.name = name
        self.metrics = ModelMetrics()
        self.interface = _servable(name, model)
        self._model = model
        self._symbol = batch_symbol(self.interface)
        self._instances = options.instances
        self.max_batch = options.max_batch if self._symbol is not None else 1
        bound = _QUEUED_BATCHES * options.max_batch * options.instances
        self._queue = BatchQueue(max_batch=self.max_batch, delay=options.delay_ms / 1000, bound=bound)
        self._joined = Joined(self._call, self._distrusted)
        self._threads = ThreadPoolExecutor(options.instances, thread_name_prefix=f"serve-{name}")
        self._running = 0
        self._seconds: dict[Hashable, float] = {}
        """The time of the last batch of the same sizes."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """The number of requests in the queue."""
        return len(self._queue)

    async def infer(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs for a request. Raises: StepwellError as the model; Refused when the queue is full."""
        if self._symbol is not None:
            self.interface.bind([array.shape for array in inputs])  # a misshapen one joins no batch
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Sequence[Array]] = loop.create_future()
        if not self._queue.add(Waiting(inputs, cast(Hashable, future), loop.time())):
            text = f"{len(self._queue)} requests for model {self.name!r} wait already: try again later"
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, text)
        self._start_batches(loop)
        return await future

    def close(self) -> None:
        """End the threads, when their batches have run."""
        self._threads.shutdown()

    def _start_batches(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._running < self._instances and (batch := self._queue.take(loop.time())):
            if self._seconds.get(_sizes(batch), _QUICK_SECONDS) < _QUICK_SECONDS:
                self._run_here(batch)
            else:
                self._running += 1
                loop.create_task(self._run(loop, batch))
        if self._timer is None and self._running < self._instances:
            if (due := self._queue.next_due()) is not None:
                self._timer = loop.call_at(due, self._timer_ends, loop)

    def _timer_ends(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._start_batches(loop)

    def _run_here(self, batch: Sequence[Waiting]) -> None:
        """Run a batch that takes less time than a change of threads, for which Python may wait 5 ms."""
        begin = perf_counter()
        found = self._joined.run([request.inputs for request in batch])
        self._finish(batch, found, perf_counter() - begin)

    async def _run(self, loop: asyncio.AbstractEventLoop, batch: Sequence[Waiting]) -> None:
        inputs = [request.inputs for request in batch]
        found, seconds = await loop.run_in_executor(self._threads, self._timed, inputs)
        self._running -= 1
        self._finish(batch, found, seconds)
        self._start_batches(loop)

    def _timed(
        self, inputs: Sequence[Sequence[Array]]
    ) -> tuple[Sequence[Sequence[Array] | Exception], float]:
        begin = perf_counter()
        found = self._joined.run(inputs)
        return found, perf_counter() - begin

    def _finish(
        self, batch: Sequence[Waiting], found: Sequence[Sequence[Array] | Exception], seconds: float
    ) -> None:
        if len(self._seconds) >= _KEPT_SIZES:
            self._seconds.clear()
        self._seconds[_sizes(batch)] = seconds
        self.metrics.called(len(batch), sum(request.samples for request in batch), seconds)
        for request, outputs in zip(batch, found, strict=True):
            future = cast("asyncio.Future[Sequence[Array]]", request.token)
            if future.done():  # its client is gone
                continue
            if isinstance(outputs, Exception):
                future.set_exception(outputs)
            else:
                future.set_result(outputs)

    def _call(self, inputs: Sequence[Array]) -> Sequence[Array]:
        outputs = self._model(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def _distrusted(self) -> None:
        self._queue.stop_batching()
        text = "model %r: its samples depend on each other: requests run one by one from here on"
        _log.warning(text, self.name)


def _sizes(batch: Sequence[Waiting]) -> Hashable:
    """The sizes on which the time of a batch depends."""
    return batch[0].kind, sum(request.samples for request in batch), len(batch)


def _servable(name: str, model: CompiledModel) -> Interface:
    """The interface of a model that can be served. Raises: StepwellError `unsupported-interface`."""
    if not isinstance(cast(object, model), CompiledModel) or isinstance(cast(object, model), LimitedProgram):
        text = f"model {name!r} is a program with functions or data, which the protocol has no type for"
        raise StepwellError("unsupported-interface", None, text)
    if model.image.main.interface.states:
        text = f"model {name!r} has states, and a request belongs to no session"
        raise StepwellError("unsupported-interface", None, text, help="make the states inputs and outputs")
    for spec in (*model.interface.inputs, *model.interface.outputs):
        datatype_of(spec)
    return model.interface
