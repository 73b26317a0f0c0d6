"""A pool of processes that compile kernels: the current one, and workers for many kernels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from threading import Thread
from time import perf_counter

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.lowering.kernels.kernel import compile_kernel
from stepwell.lowering.kernels.kernel_object import KernelObject, Results, text_of
from stepwell.lowering.kernels.worker import Worker, forked, module_of
from stepwell.passes.context import PassContext
from stepwell.passes.pass_limit import numbered
from stepwell.passes.trace_events import span
from stepwell.runtime.child import Child
from stepwell.runtime.collector import free_young_cycles
from stepwell.runtime.log import collecting, logger
from stepwell.runtime.machine.target import TargetDescription

_log = logger(__name__)


class Pool:
    """A compilation of several kernels, which this process and its workers pop from a shared queue."""

    def __init__(self, results: Results, target: TargetDescription, waiting: deque[str]):
        self.results, self.target, self.waiting = results, target, waiting
        self.errors: list[Exception] = []

    def workers(
        self, processes: int, children: list[Child], stack: ExitStack, pays: float
    ) -> Sequence[Child | None]:
        """
        The worker processes for the kernels that wait; none where these have less than `pays` characters.

        Those of `children` run already and come first, the others are forks, which `stack` ends. None stands
        for a process that is to be started.
        """
        kernels = self.results.kernels
        size = sum(len(kernels[key][1]) for key in self.waiting)
        count = min(processes - 1, len(self.waiting) - 1) if size >= pays else 0
        found: list[Child | None] = [children.pop() for _ in range(min(count, len(children)))]
        functions = {key: kernels[key][0] for key in self.waiting}
        while len(found) < count:
            if (fork := forked(functions)) is not None:
                stack.callback(fork.kill)
            found.append(fork)
        return found

    def run(self, context: PassContext, runs: Mapping[str, range], workers: Sequence[Child | None]) -> None:
        """
        Compile all waiting kernels in this process and in workers.

        Args: `runs` are the numbers of the pass runs of each kernel, where they have some.
        Raises: the first exception of any of them.
        """
        threads: list[Thread] = []
        for number, child in enumerate(workers, 1):
            threads.append(Thread(target=self._serve_worker, args=(context, child, number), daemon=True))
            threads[-1].start()
        ctx = StepwellContext()
        self._drain(lambda key: self._compile_here(key, ctx, runs.get(key, range(0))))
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _compile_here(self, key: str, ctx: StepwellContext, runs: range) -> KernelObject:
        """The object of a kernel, whose IR is freed."""
        function, _ = self.results.kernels[key]
        with numbered(runs.start - 1 if runs else None), span(key, "kernel"):
            kernel = compile_kernel(lambda: module_of(function), ctx, self.target)
        free_young_cycles(COMPILER.freed_objects)
        return kernel

    def _serve_worker(self, context: PassContext, child: Child | None, number: int) -> None:
        """Feed kernels to one worker process until the queue is empty."""
        worker = Worker(context, child, number)
        try:
            if worker.refusal is None:  # else the other processes compile all kernels
                self._drain(lambda key: worker.compile(key, self._text_for(worker, key), self.target))
        finally:
            worker.close()

    def _text_for(self, worker: Worker, key: str) -> str:
        """The text of a kernel for a worker, empty where it has the kernel itself."""
        function, text = self.results.kernels[key]
        return "" if worker.has_kernels else text_of(function.sym_name.data, text)

    def _drain(self, compile_one: Callable[[str], KernelObject]) -> None:
        """Compile kernels from the queue until it is empty or an error occurs anywhere."""
        while not self.errors:
            try:
                key = self.waiting.popleft()
            except IndexError:
                return
            try:
                self._finish(key, compile_one)
            except Exception as error:  # a thread has no caller to raise it to: `run` does
                self.errors.append(error)

    def _finish(self, key: str, compile_one: Callable[[str], KernelObject]) -> None:
        """Compile one kernel, and add it to the results."""
        start = perf_counter()
        with collecting() as self.results.messages[key]:
            kernel = compile_one(key)
            _log(2, "kernel {} compiled: {:.2f} ms", key, 1e3 * (perf_counter() - start))
        self.results.add(key, kernel)
