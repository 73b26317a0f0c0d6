"""Calls of a model of one operator: from C, in another process, and on a server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import onnx.parser

import stepwell
from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.deploy.files import TINY
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.connection import Connection

ONE = """
<ir_version: 8, opset_import: ["" : 17]>
one (float[16] x) => (float[16] y) { y = Relu (x) }
"""
_ROUNDS, _CALLS, _TURNS = 60, 25, 30
_CALLER = """
#define _POSIX_C_SOURCE 200809L
#include "one.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
int32_t one_main(void *args, void *dims, void *context);
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double least(double a, double b) { return a < b ? a : b; }
int main(void) {
  static float x[16], y[16];
  static unsigned char memory[8192];
  one_inputs in = {x};
  one_outputs out = {y};
  one_call call;
  void *args[3] = {x, y, memory};
  int64_t dims[1] = {0};
  uint64_t context[12] = {0};
  double run = 1e9, alone = 1e9;
  memset(&call, 0, sizeof call);
  args[2] = call.workspace = memory + (64 - (uintptr_t)memory % 64) % 64;
  call.workspace_bytes = 4096;
  for (int round = 0; round < 30; round++) {
    double begin = now();
    for (int i = 0; i < 100000; i++) one_run(&in, &out, &call);
    run = least(run, now() - begin);
    begin = now();
    for (int i = 0; i < 100000; i++) one_main(args, dims, context);
    alone = least(alone, now() - begin);
  }
  printf("%.4f us by NAME_run, %.4f over NAME_main", 10 * run, 10 * (run - alone));
  return 0;
}
"""


def calls_from_c(folder: Path) -> Iterator[Figure]:
    """The least time of a call by `NAME_run` over that of `NAME_main`, which runs the kernels."""
    what, bound = "one operator from C", "0.3 us over the kernel"
    if (compiler := shutil.which("cc")) is None:
        yield skipped(what, "no C compiler here", bound)
        return
    stepwell.export(onnx.parser.parse_model(ONE), folder / "one.a")
    (folder / "one.c").write_text(_CALLER)
    subprocess.run([compiler, "-O2", "one.c", "one.a", "-o", "one"], cwd=folder, check=True)
    done = subprocess.run([folder / "one"], capture_output=True, text=True, check=True)
    yield judged(what, done.stdout, bound, float(done.stdout.split(",")[1].split()[0]) <= 0.3)


def calls_there(folder: Path) -> Iterator[Figure]:
    """The time of a call in a process of its own, and on a server on loopback; and of a measurement there."""
    model, x = stepwell.compile(onnx.parser.parse_model(ONE)), np.ones(16, np.float32)
    with stepwell.rpc.local() as here:
        there = here.load(model, threads=1)
        yield Figure("one operator in a process of its own", f"{_least_call(there, x):.3f} ms", "none")
        yield from _calls_on_a_server(model, x, here)


def _calls_on_a_server(model: CompiledModel, x: Array, here: Connection) -> Iterator[Figure]:
    """The time of a call on a server, and of a measurement there over that of a session here."""
    command = [sys.executable, "-m", "stepwell", "rpc", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        if not (line := server.stdout.readline()):
            yield skipped("one operator on a server", "no server of sessions here", "0.5 ms")
            return
        try:
            with stepwell.rpc.connect(f"rpc://{line.split()[-1]}") as session:
                there = session.load(model, threads=1)
                yield _on_a_server(there, x, server.pid)
                with stepwell.rpc.local() as other:
                    there, again = _ratios(here, session, other)
                met = abs(there - 1) <= 0.02
                found = f"{there:.3f}, of another session here {again:.3f}"
                yield judged("time measured there, over that here", found, "0.98 to 1.02", met)
        finally:
            server.terminate()


def _on_a_server(there: CompiledModel, x: Array, server: int) -> Figure:
    """The time of a call, and that of the processors: client, server and the session's process."""
    before = sum(map(_cpu_ms, (os.getpid(), server, *_children(server))))
    milliseconds = _least_call(there, x)
    after = sum(map(_cpu_ms, (os.getpid(), server, *_children(server))))
    found = f"{milliseconds:.3f} ms, {(after - before) / (_ROUNDS * _CALLS):.3f} ms of processors"
    return judged("one operator on a server on loopback, TLS", found, "0.5 ms", milliseconds <= 0.5)


def _children(process: int) -> list[int]:
    """The processes that a process has started."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _cpu_ms(process: int) -> float:
    """The time that the threads of a process have had a core."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def _least_call(model: CompiledModel, x: Array) -> float:
    """The least median of a call over rounds, in milliseconds."""
    rounds: list[float] = []
    for _ in range(_ROUNDS):
        seconds: list[float] = []
        for _ in range(_CALLS):
            begin = perf_counter()
            model(x)
            seconds.append(perf_counter() - begin)
        rounds.append(1e3 * median(seconds))
    return min(rounds)


def _ratios(base: Connection, *others: Connection) -> list[float]:
    """
    The time of a small model's call as sessions measure it over that in `base`: the median of many turns.

    The least of all times is of a moment with the highest clock: between four sessions here it differed by
    4 %. A turn's ratio is of times within a second, in one order and then in the other.
    """
    model = stepwell.compile(onnx.parser.parse_model(TINY))
    generator = np.random.default_rng(0)
    shapes = ((16, 3, 32, 32), (16, 3, 3, 3), (16, 10))
    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    loaded = [(session, session.load(model, threads=1)) for session in (base, *others)]
    times: list[list[float]] = [[] for _ in loaded]
    turns = list(zip(loaded, times, strict=True))
    for _ in range(_TURNS):
        for (session, there), own in turns:
            own.append(min(session.time(there, arrays, number=20, repeat=15).seconds))
        turns.reverse()
    first, *rest = times
    return [median(own / other for own, other in zip(each, first, strict=True)) for each in rest]
