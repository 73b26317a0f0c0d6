"""Today's code for a model, untuned, against that of an earlier state of Stepwell, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.zoo import REPOSITORY
from stepwell.runtime.interface import Array
from stepwell.runtime.rpc.interleaved import ROUND_SECONDS, Latency, Ratio, ratio

_ROUNDS = 15
_PAIRS_OF_KERNELS = 7
"""
The processes of each state for a kernel: where its buffers are in the caches is another place in each, which
moved a transpose by 40 %.
"""
_MOST_CALLS = 20_000
_REUSED = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
"""
Settings of glibc by which a process keeps the memory of results: else each call has new pages, and pays for
their first accesses.
"""
# Weights are in memory of the process, not in pages of a file: where these are makes 10 % of a model's time.
_PROGRAM = """
import json, sys, time
import numpy as np
import stepwell
path, threads, shapes, feeds = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), np.load(sys.argv[4])
kernels = sys.argv[5] == "kernels"
model = stepwell.compile(path, threads=threads, use_cache=False, input_shapes=shapes, profile=kernels)
arrays = [feeds[f"arr_{n}"] for n in range(len(feeds.files))]
for line in sys.stdin:
    calls = int(line)
    if kernels:
        rows = model.profile(*arrays, runs=min(calls, 1000))
        print(repr(1e-6 * sum(row.microseconds for row in rows if row.kind == "kernel")), flush=True)
        continue
    for _ in range(max(1, calls // 10)):  # the other process has filled the caches
        model(*arrays)
    begin = time.perf_counter()
    for _ in range(calls):
        model(*arrays)
    print(repr((time.perf_counter() - begin) / calls), flush=True)
"""


@dataclass(frozen=True)
class Gain:
    """The time of the code of before over that of today's code, by blocks of calls."""

    rounds: Ratio
    """By the median of each round's ratio."""
    minima: float
    """By the fastest block of each."""

    @staticmethod
    def of(before: Sequence[float], now: Sequence[float]) -> Gain:
        """The gain, by the seconds of both in each round."""
        return Gain(ratio(Latency(tuple(before)), Latency(tuple(now))), min(before) / min(now))

    def __str__(self) -> str:
        return f"{self.rounds}, minima {self.minima:.2f}"


class _Model:
    """A model compiled by one state of Stepwell, in a process of its own."""

    def __init__(
        self, tree: Path, path: Path, threads: int, shapes: Mapping[str, Sequence[int]], feeds: Path, of: str
    ):
        sizes = json.dumps({name: list(shape) for name, shape in shapes.items()})
        words = [str(path), str(threads), sizes, str(feeds), of]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *words],
            cwd=tree, env={**os.environ, **_REUSED, "PYTHONPATH": str(tree)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def seconds(self, calls: int) -> float:
        """The mean time of a call, of a block in a row. Raises: RuntimeError where the process has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{calls}\n")
        self._process.stdin.flush()
        if not (line := self._process.stdout.readline()):
            raise RuntimeError("this state of Stepwell does not compile or run the model")
        return float(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def gain_over(
    tree: Path,
    path: Path,
    threads: int,
    shapes: Mapping[str, Sequence[int]],
    arrays: Sequence[Array],
    *,
    of_kernels: bool = False,
) -> Gain:
    """
    The time of a model by the code in a folder over that by today's, neither tuned.

    Each state has a process, or several in turn for a kernel. The two processes take turns with blocks of
    calls: a call after one of the other process would find its weights in no cache, and the clock read at
    each call costs as much as a small kernel.
    Args: `of_kernels` counts the time in kernels alone: a call from Python takes as long as a small kernel.
    """
    of = "kernels" if of_kernels else "calls"
    pairs = _PAIRS_OF_KERNELS if of_kernels else 1
    rounds: list[list[float]] = []
    with TemporaryDirectory() as folder:
        np.savez(feeds := Path(folder, "feeds.npz"), *arrays)
        for _ in range(pairs):
            models = [
                _Model(each.resolve(), path.resolve(), threads, shapes, feeds, of)
                for each in (tree, REPOSITORY)
            ]
            rounds += _rounds(models, -(-_ROUNDS // pairs))
    before, now = zip(*rounds, strict=True)
    return Gain.of(before, now)


def _rounds(models: Sequence[_Model], count: int) -> list[list[float]]:
    """The times of a block of each model in each round; the processes are ended."""
    with ExitStack() as stack:
        for model in models:
            stack.callback(model.close)
        calls = [_calls_of_a_block(model) for model in models]
        return [_round(models, calls, turn) for turn in range(count)]


def _calls_of_a_block(model: _Model) -> int:
    """The calls that fill a block; the first call is no measure of the others."""
    model.seconds(1)
    return min(_MOST_CALLS, max(1, round(ROUND_SECONDS / model.seconds(3))))


def _round(models: Sequence[_Model], calls: Sequence[int], turn: int) -> list[float]:
    """The times of a block of each model; every second round in the other order."""
    taken = [0.0] * len(models)
    for index in range(len(models))[:: 1 if turn % 2 == 0 else -1]:
        taken[index] = models[index].seconds(calls[index])
    return taken
