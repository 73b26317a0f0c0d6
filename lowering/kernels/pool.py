"""Compilation of all kernels of a model: deduplicated, loaded from the cache or compiled on all cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from threading import Thread
from time import perf_counter

from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.locations import node_names
from stepwell.lowering.kernels.kernel import KernelObject, compile_kernel
from stepwell.lowering.kernels.worker import Worker, forked, module_of
from stepwell.passes.context import PassContext
from stepwell.passes.pass_limit import next_runs, numbered, skip_numbers
from stepwell.passes.pipelines import KERNEL_RUNS
from stepwell.passes.trace_events import current_trace, span
from stepwell.runtime.child import Child
from stepwell.runtime.collector import free_young_cycles
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import describe_location
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.log import Record, collecting, logger, report
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.memory import return_free_memory
from stepwell.runtime.targets.triples import has_threads

_log = logger(__name__)


def workers_for(nodes: int, processes: int | None) -> int:
    """The number of workers to start for a model of which only the number of nodes is known."""
    if _watches_here(PassContext.current()):
        return 0
    return min((processes or usable_cores()) - 1, nodes // COMPILER.nodes_a_worker)


def _watches_here(context: PassContext) -> bool:
    """Whether instruments watch passes, and those of this process alone."""
    return not all(instrument.in_workers for instrument in context.instruments)


def compile_kernels(
    kernels: Mapping[str, tuple[FuncOp, str]],
    target: TargetDescription,
    cache: KernelCache | None,
    *,
    processes: int | None = None,
    children: list[Child] | None = None,
    progress: Callable[[int, int], None] | None = None,
    beside: AbstractContextManager[object] | None = None,
) -> tuple[dict[str, KernelObject], int]:
    """
    Objects of kernels by cache key, in the order of `kernels`, and the number of cache hits.

    Args: `kernels` maps a key to the level-2 function, under its final name, and its canonical text;
    `processes` (default: cores) bounds the processes that compile at once; `children` are those for workers
    that run already, of which as many are popped as are needed; `progress(done, total)` is called after each
    kernel; `beside` is entered for the time of the compilation, after forks: it may start threads.
    Raises: StepwellError of the first kernel that cannot be compiled.
    """
    context = PassContext.current()
    count = KERNEL_RUNS + (not has_threads(target.arch))  # one more bounds the stack
    runs = {key: next_runs(count, index * count) for index, key in enumerate(kernels)}
    kept = {} if cache is None else {k: cache for k, numbers in runs.items() if not context.alters(numbers)}
    done: dict[str, KernelObject] = {}
    for key in kept:
        if (entry := kept[key].load(key)) is not None:
            done[key] = KernelObject(*entry)
    hits = len(done)
    _note_cached(kernels, done)
    waiting = [key for key in kernels if key not in done]
    if _watches_here(context):
        processes = 1  # they watch passes of this process, in the order of kernels
    if not context.instruments:  # large kernels first, so that no core waits for a last long one
        waiting.sort(key=lambda key: -len(kernels[key][1]))
    pool = _Pool(kernels, target, kept, done, deque(waiting), progress)
    try:
        with ExitStack() as stack:
            workers = pool.workers(processes or usable_cores(), children or [], stack)
            stack.enter_context(beside or nullcontext())
            pool.run(context, runs, workers)
    finally:
        for key in kernels:  # in this order, whoever compiled them
            node = describe_location(kernels[key][0])
            report(m if m.node else m._replace(node=node) for m in pool.messages.get(key, ()))
    return_free_memory()
    skip_numbers(count * len(kernels))
    done = {key: done[key] for key in kernels}  # in one order, whatever was kept or is compiled first
    context.remarks += [remark for kernel in done.values() for remark in kernel.remarks]
    return done, hits


def _note_cached(kernels: Mapping[str, tuple[FuncOp, str]], cached: Collection[str]) -> None:
    """Record the kernels, and those from the cache, in the trace and in the log."""
    if (trace := current_trace()) is not None:
        trace.nodes |= {key: list(node_names(func.location)) for key, (func, _) in kernels.items()}
        for key in cached:
            trace.add_cached(key)
    _log(1, "{} kernels, {} of them in the cache", len(kernels), len(cached))


class _Pool:
    """A compilation of several kernels, which this process and its workers pop from a shared queue."""

    def __init__(
        self,
        kernels: Mapping[str, tuple[FuncOp, str]],
        target: TargetDescription,
        kept: Mapping[str, KernelCache],
        done: dict[str, KernelObject],
        waiting: deque[str],
        progress: Callable[[int, int], None] | None,
    ):
        self.kernels, self.target, self.kept = kernels, target, kept
        self.done, self.waiting, self.progress = done, waiting, progress
        self.errors: list[Exception] = []
        self.messages: dict[str, list[Record]] = {}

    def workers(self, processes: int, children: list[Child], stack: ExitStack) -> Sequence[Child | None]:
        """
        The worker processes for the kernels that wait; none where they are few.

        Those of `children` run already and come first, the others are forks, which `stack` ends. None stands
        for a process that is to be started.
        """
        size = sum(len(self.kernels[key][1]) for key in self.waiting)
        count = min(processes - 1, len(self.waiting) - 1) if size >= COMPILER.worker_pays else 0
        found: list[Child | None] = [children.pop() for _ in range(min(count, len(children)))]
        functions = {key: self.kernels[key][0] for key in self.waiting}
        while len(found) < count:
            if (fork := forked(functions)) is not None:
                stack.callback(fork.kill)
            found.append(fork)
        return found

    def run(self, context: PassContext, runs: Mapping[str, range], workers: Sequence[Child | None]) -> None:
        """
        Compile all waiting kernels in this process and in workers.

        Args: `runs` are the numbers of the pass runs of each kernel.
        Raises: the first exception of any of them.
        """
        threads: list[Thread] = []
        for number, child in enumerate(workers, 1):
            threads.append(Thread(target=self._serve_worker, args=(context, child, number), daemon=True))
            threads[-1].start()
        ctx = StepwellContext()
        self._drain(lambda key: self._compile_here(key, ctx, runs[key]))
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _compile_here(self, key: str, ctx: StepwellContext, runs: range) -> KernelObject:
        """The object of a kernel, whose IR is freed."""
        with numbered(runs.start - 1 if runs else None), span(key, "kernel"):
            kernel = compile_kernel(lambda: module_of(self.kernels[key][0]), ctx, self.target)
        free_young_cycles()
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
        return "" if worker.has_kernels else _text_of(self.kernels[key])

    def _drain(self, compile_one: Callable[[str], KernelObject]) -> None:
        """
        Compile kernels from the queue until it is empty or an error occurs anywhere; store each in the cache.
        """
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
        """Compile one kernel, store its object, and report the progress."""
        start = perf_counter()
        with collecting() as self.messages[key]:
            kernel = compile_one(key)
            _log(2, "kernel {} compiled: {:.2f} ms", key, 1e3 * (perf_counter() - start))
        self.done[key] = kernel
        if (cache := self.kept.get(key)) is not None:
            cache.store(key, kernel.code, kernel.meta)
        if self.progress is not None:
            self.progress(len(self.done), len(self.kernels))


def _text_of(kernel: tuple[FuncOp, str]) -> str:
    """The text of a module with a kernel under its own name, from its canonical text."""
    func, text = kernel
    return "builtin.module {\n" + text.replace("@kernel", f"@{func.sym_name.data}", 1) + "\n}"
