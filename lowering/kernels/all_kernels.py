"""Objects of all kernels of a model: from the cache, from an early process, or compiled here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext

from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.locations import node_names
from stepwell.lowering.kernels.early import Started
from stepwell.lowering.kernels.kernel_object import KernelObject, Kernels, Results
from stepwell.passes.context import PassContext
from stepwell.passes.pass_limit import next_runs, skip_numbers
from stepwell.passes.pipelines import KERNEL_RUNS
from stepwell.passes.trace_events import current_trace
from stepwell.runtime.collector import compiler_imports
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import describe_location
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.log import logger, report
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.memory import return_free_memory
from stepwell.runtime.targets.triples import has_threads

_log = logger(__name__)


def workers_for(nodes: int, processes: int | None) -> int:
    """The number of workers to start for a model of which only the number of nodes is known."""
    if _needs_this_process(PassContext.current()):
        return 0
    return min((processes or usable_cores()) - 1, nodes // COMPILER.nodes_a_worker)


def _needs_this_process(context: PassContext) -> bool:
    """Whether instruments watch passes, and those of this process alone."""
    return not all(instrument.in_workers for instrument in context.instruments)


def compile_kernels(
    kernels: Kernels,
    target: TargetDescription,
    cache: KernelCache | None,
    *,
    processes: int | None = None,
    started: Started | None = None,
    progress: Callable[[int, int], None] | None = None,
    beside: AbstractContextManager[object] | None = None,
) -> tuple[dict[str, KernelObject], int]:
    """
    Objects of kernels by cache key, in the order of `kernels`, and the number of cache hits.

    Args: `processes` (default: cores) bounds the processes that compile at once; `started` has processes that
    run already, of which as many workers are popped as are needed; `progress(done, total)` is called after
    each kernel; `beside` is entered for the time of the compilation, after forks: it may start threads.
    Raises: StepwellError of the first kernel that cannot be compiled.
    """
    context, started = PassContext.current(), started or Started()
    count = KERNEL_RUNS + (not has_threads(target.arch))  # one more bounds the stack
    runs = {key: next_runs(count, index * count) for index, key in enumerate(kernels)}
    results, hits = _with_cached(kernels, cache, runs, progress)
    # Instruments watch kernels in order.
    processes = 1 if _needs_this_process(context) else processes or usable_cores()
    try:
        with ExitStack() as stack:
            waiting = _waiting(results)
            if waiting and started.early is not None and not context.instruments:
                stack.enter_context(beside or nullcontext())
                beside = None
                started.early.compile(waiting, results, target, processes, started.beside_kernels)
                waiting = _waiting(results)
            if waiting:
                with compiler_imports():
                    from stepwell.lowering.kernels.pool import Pool

                pool = Pool(results, target, deque(waiting))
                workers = pool.workers(processes, started.children, stack, COMPILER.worker_pays)
                stack.enter_context(beside or nullcontext())
                pool.run(context, runs, workers)
    finally:
        _report(results)
    return_free_memory()
    skip_numbers(count * len(kernels))
    done = {key: results.done[key] for key in kernels}  # in one order, whatever was kept or is compiled first
    context.remarks += [remark for kernel in done.values() for remark in kernel.remarks]
    return done, hits


def _with_cached(
    kernels: Kernels,
    cache: KernelCache | None,
    runs: Mapping[str, range],
    progress: Callable[[int, int], None] | None,
) -> tuple[Results, int]:
    """
    The kernels of a cache, and their number; others are stored there, but for those that instruments alter.
    """
    context = PassContext.current()
    kept = {} if cache is None else {k: cache for k, numbers in runs.items() if not context.alters(numbers)}

    def store(key: str, kernel: KernelObject) -> None:
        if key in kept:
            kept[key].store(key, kernel.code, kernel.meta)

    results = Results(kernels, store, progress)
    for key in kept:
        if (entry := kept[key].load(key)) is not None:
            results.done[key] = KernelObject(*entry)
    _note_cached(kernels, results.done)
    return results, len(results.done)


def _waiting(results: Results) -> Sequence[str]:
    """The uncompiled kernels, the largest first: the last ones end at about the same time on all cores."""
    waiting = [key for key in results.kernels if key not in results.done]
    if not PassContext.current().instruments:
        waiting.sort(key=lambda key: -len(results.kernels[key][1]))
    return waiting


def _report(results: Results) -> None:
    """Write the messages of kernels in their order, whoever compiled them."""
    for key, (function, _) in results.kernels.items():
        node = describe_location(function)
        report(m if m.node else m._replace(node=node) for m in results.messages.get(key, ()))


def _note_cached(kernels: Kernels, cached: Collection[str]) -> None:
    """Record the kernels, and those from the cache, in the trace and in the log."""
    if (trace := current_trace()) is not None:
        trace.nodes |= {key: list(node_names(func.location)) for key, (func, _) in kernels.items()}
        for key in cached:
            trace.add_cached(key)
    _log(1, "{} kernels, {} of them in the cache", len(kernels), len(cached))
