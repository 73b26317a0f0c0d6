"""Today's code for a model, untuned, against that of an earlier state of Stepwell, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.zoo import REPOSITORY
from stepwell.runtime.interface import Array
from stepwell.runtime.rpc.interleaved import ROUND_SECONDS, Latency, ratio

_ROUNDS = 15
_MOST_RUNS = 1000
# Weights are in memory of the process, not in pages of a file: where these are makes 10 % of a model's time.
_PROGRAM = """
import json, sys, time
import numpy as np
import stepwell
path, threads, shapes, feeds = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), np.load(sys.argv[4])
kernels = sys.argv[5] == "kernels"
model = stepwell.compile(path, threads=threads, use_cache=False, input_shapes=shapes, profile=kernels)
arrays = [feeds[f"arr_{n}"] for n in range(len(feeds.files))]
clock = time.process_time if threads == 1 else time.perf_counter
for line in sys.stdin:
    if kernels:
        rows = model.profile(*arrays, runs=int(line))
        print(repr(1e-6 * sum(row.microseconds for row in rows if row.kind == "kernel")), flush=True)
        continue
    taken = []
    model(*arrays)
    for _ in range(int(line)):
        begin = clock()
        model(*arrays)
        taken.append(clock() - begin)
    print(repr(float(np.median(taken))), flush=True)
"""


class _Model:
    """A model compiled by one state of Stepwell, in a process of its own."""

    def __init__(
        self, tree: Path, path: Path, threads: int, shapes: Mapping[str, Sequence[int]], feeds: Path, of: str
    ):
        sizes = json.dumps({name: list(shape) for name, shape in shapes.items()})
        words = [str(path), str(threads), sizes, str(feeds), of]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *words],
            cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def seconds(self, runs: int) -> float:
        """The median time of some runs. Raises: RuntimeError where the process has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{runs}\n")
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
) -> float:
    """
    The time of a model by the code in a folder over that by today's, neither tuned, round by round.

    Args: `of_kernels` counts the time in kernels alone: a call from Python takes as long as a small kernel.
    """
    of = "kernels" if of_kernels else "calls"
    with TemporaryDirectory() as folder, ExitStack() as stack:
        np.savez(feeds := Path(folder, "feeds.npz"), *arrays)
        models = [
            _Model(each.resolve(), path.resolve(), threads, shapes, feeds, of) for each in (tree, REPOSITORY)
        ]
        for model in models:
            stack.callback(model.close)
        runs = [min(_MOST_RUNS, max(1, round(ROUND_SECONDS / model.seconds(1)))) for model in models]
        rounds = [[m.seconds(n) for m, n in zip(models, runs, strict=True)] for _ in range(_ROUNDS)]
        before, now = zip(*rounds, strict=True)
        return ratio(Latency(before), Latency(now)).median
