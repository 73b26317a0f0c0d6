"""The limits of this machine: fused multiply-adds and copies per second, measured once and stored."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Barrier, Thread
from time import thread_time
from typing import cast

import numpy as np
import numpy.typing as npt

from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import default_folder
from stepwell.runtime.files.whole_files import write_text
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.loader import Library, load_objects
from stepwell.runtime.machine.target import TargetDescription, host_target
from stepwell.runtime.memory import aligned_empty

_ROUNDS = 5  # the best of them: the machine has other things to do
_ROUND_SECONDS = 0.05
_CHAINS = 12  # latency times ports is 8 on today's x86, and 16 registers leave room for two operands
_MIN_COPY_BYTES, _MAX_COPY_BYTES = 64 << 20, 128 << 20
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class MachineLimits:
    """The highest measured rates by number of threads: 1 and, where there are more cores, 2 and all."""

    gflops: Mapping[int, float]
    """f32, a multiply-add counts as two."""
    memory_gbps: Mapping[int, float]
    """GB/s read and written by copies of arrays larger than the caches."""
    cache_gbps: Mapping[int, float]
    """GB/s read and written by copies in the level-2 cache."""

    def flops(self, threads: int) -> float:
        """The peak of floating-point operations per second of a number of threads."""
        return _nearest(self.gflops, threads)

    def bandwidth(self, threads: int, bytes: float) -> float:
        """Bytes per second for data of some size: from the cache where it fits, else from memory."""
        fits = bytes <= threads * host_target().l2_bytes
        return _nearest(self.cache_gbps if fits else self.memory_gbps, threads)


_FIGURES = ("gflops", "memory_gbps", "cache_gbps")


def _nearest(figures: Mapping[int, float], threads: int) -> float:
    return 1e9 * figures[max((n for n in figures if n <= threads), default=min(figures))]


def machine_limits(*, measure: bool = False) -> MachineLimits:
    """The limits of this machine, from the file that an earlier measurement left, or measured now."""
    known = None if measure else kept_limits()
    if known is None:
        known = _measure()
        _keep(known)
    return known


def kept_limits() -> MachineLimits | None:
    """The stored limits of this machine; None when nothing was measured."""
    try:
        data = cast(Mapping[str, Mapping[str, float]], json.loads(_file().read_text()))
        if data["machine"] != _machine():
            return None
        figures = [{int(n): float(x) for n, x in data[name].items()} for name in _FIGURES]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return MachineLimits(*figures) if all(figures) else None


def _keep(limits: MachineLimits) -> None:
    data = {"machine": _machine(), **{name: getattr(limits, name) for name in _FIGURES}}
    try:
        _file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text(_file(), json.dumps(data, indent=1) + "\n")
    except (OSError, StepwellError):
        return  # a cache that cannot be written: measured again next time


def _file() -> Path:
    return default_folder() / "machine.json"


def _machine() -> dict[str, object]:
    """The description of the machine that the stored figures belong to."""
    return cast("dict[str, object]", json.loads(json.dumps(host_target().to_json())))


def _measure() -> MachineLimits:
    target = host_target()
    library = load_objects([compile_to_object(_source(target), target, optimize=False)])
    threads = sorted({1, min(2, target.cores), target.cores})
    large = min(max(_MIN_COPY_BYTES, 2 * target.l3_bytes), _MAX_COPY_BYTES)
    return MachineLimits(
        {n: _peak_gflops(library, target, n) for n in threads},
        {n: _copy_gbps(library, target, n, large) for n in threads},
        {n: _copy_gbps(library, target, n, target.l2_bytes // 4) for n in threads},
    )


def _peak_gflops(library: Library, target: TargetDescription, threads: int) -> float:
    run = _FUNCTION(library.address("multiply_add"))
    memory = [aligned_empty(4096) for _ in range(threads)]
    for place in memory:
        place.view(np.float32)[:] = 0.5

    def work(index: int, count: int) -> None:
        run(count, memory[index].ctypes.data, None)

    flops = 2 * _CHAINS * target.lanes(4)
    return flops * _best_rate(work, threads, 1 << 16) / 1e9


def _copy_gbps(library: Library, target: TargetDescription, threads: int, size: int) -> float:
    """GB/s of copies by several threads. Args: `size` is the number of bytes that each thread copies."""
    run = _FUNCTION(library.address("copy"))
    step = _CHAINS * target.vector_bytes
    steps = size // step
    memory = [(aligned_empty(steps * step), aligned_empty(steps * step)) for _ in range(threads)]
    for array in chain(*memory):
        array.view(np.uint8)[:] = 1  # pages without a write are all the same physical page

    def work(index: int, count: int) -> None:
        source, target = (_address(array) for array in memory[index])
        for _ in range(count):
            run(steps, source, target)

    return 2 * steps * step * _best_rate(work, threads, 1) / 1e9


def _address(array: Array) -> int:
    return int(array.ctypes.data)


def _best_rate(work: Callable[[int, int], None], threads: int, count: int) -> float:
    """The best rate, in units of work per second, of threads that work at the same time."""
    while (taken := _seconds(work, threads, count)).min() < _ROUND_SECONDS:
        count *= 2
    rounds = [taken, *(_seconds(work, threads, count) for _ in range(_ROUNDS - 1))]
    return max(float((count / taken).sum()) for taken in rounds)


def _seconds(work: Callable[[int, int], None], threads: int, count: int) -> npt.NDArray[np.float64]:
    """Processor time of each thread, which other processes of the machine affect least."""
    barrier = Barrier(threads)
    taken = np.zeros(threads)

    def run(index: int) -> None:
        barrier.wait()
        start = thread_time()
        work(index, count)
        taken[index] = thread_time() - start

    crew = [Thread(target=run, args=(index,)) for index in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return taken


def _source(target: TargetDescription) -> str:
    """LLVM IR of `multiply_add(n, ptr, _)`, n times one of each chain, and `copy(n, ptr, ptr)`, n steps."""
    lanes = target.lanes(4)
    vector = f"<{lanes} x float>"
    loop = "%i = phi i64 [0, %entry], [%next, %loop]"
    after = "%next = add i64 %i, 1\n  %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %done"
    fma = f"call {vector} @llvm.fma.v{lanes}f32({vector}"
    # multiply_add: a step is one FMA in each chain, which stay in registers until the stores.
    phis = [f"%x{c} = phi {vector} [%a, %entry], [%y{c}, %loop]" for c in range(_CHAINS)]
    steps = [f"%y{c} = {fma} %x{c}, {vector} %a, {vector} %a)" for c in range(_CHAINS)]
    stores = [f"store {vector} %y{c}, ptr %p, align 64" for c in range(_CHAINS)]
    # copy: a step loads and stores a vector for each chain.
    moves = [_move(vector, c, target.vector_bytes) for c in range(_CHAINS)]
    body = _lines([loop, *phis, *steps, after])
    return f"""target triple = "{target.triple}"
declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})
define void @multiply_add(i64 %n, ptr %p, ptr %unused) {{
entry:
  %a = load {vector}, ptr %p, align 64
  br label %loop
loop:
  {body}
done:
  {_lines(stores)}
  ret void
}}
define void @copy(i64 %n, ptr %p, ptr %q) {{
entry:
  br label %loop
loop:
  {_lines([loop, f"%at = mul i64 %i, {_CHAINS * target.vector_bytes}", *moves, after])}
done:
  ret void
}}
"""


def _move(vector: str, index: int, vector_bytes: int) -> str:
    """LLVM IR that copies a vector in a step of the copy loop."""
    lines = [f"%o{index} = add i64 %at, {index * vector_bytes}"]
    lines += [f"%{p}{index} = getelementptr i8, ptr %{p}, i64 %o{index}" for p in "pq"]
    lines.append(f"%v{index} = load {vector}, ptr %p{index}, align {vector_bytes}")
    lines.append(f"store {vector} %v{index}, ptr %q{index}, align {vector_bytes}")
    return _lines(lines)


def _lines(lines: Sequence[str]) -> str:
    return "\n  ".join(lines)
