"""
Times of devices that need no GPU, `python -m benchmarks.devices --json F`: compilations, calls, copies, and
the operations of a lane that interpreters make in a second of processor time.

Figures of a GPU are none of these: `gpu-interpreter`, PoCL and lavapipe run on the CPU.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

import stepwell as sw
from stepwell.runtime.devices.moved import device_parts
from stepwell.runtime.devices.profiling import timed_launches
from stepwell.runtime.devices.table import devices

ROOT = Path(__file__).resolve().parents[1]
_RUNS = 5
_INTERPRETERS = ("gpu-interpreter", "ptx-interpreter")
"""Devices that are no kinds of targets."""


def seconds(call: Callable[[], object], runs: int = _RUNS) -> float:
    """The median time of a call."""
    times: list[float] = []
    for _ in range(runs):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return median(times)


def measured(path: Path, kind: str, rows: int) -> dict[str, object]:
    """Compile time, first call, later calls, and what is copied, of a model on a device."""
    target = {"device": kind} if kind in _INTERPRETERS else {"target": kind}
    begin = perf_counter()
    model = sw.compile(path, use_cache=False, **target)  # pyright: ignore[reportArgumentType]
    compiled = perf_counter() - begin
    x = np.random.default_rng(0).standard_normal((rows, 64), np.float32)
    begin = perf_counter()
    model(x)
    first = perf_counter() - begin
    with timed_launches() as times:
        model(x)
    return {
        "device": kind,
        "rows": rows,
        "compile s": round(compiled, 3),
        "first call s": round(first, 3),
        "call ms": round(1e3 * seconds(lambda: model(x)), 3),
        "launches": sum(times.launches.values()),
        "copied bytes": times.copied_bytes,
        "part bytes": sum(len(part.to_bytes()) for part in device_parts(model.image)),
    }


_THREADS, _BLOCKS, _STEPS = 256, 256, 64
_LOOP = re.compile(r"^(\$\w+):\n(.*?)\n[^\n]*\bbra\b[^\n]*\1;", re.MULTILINE | re.DOTALL)
"""A loop of PTX without branches inside: its label, and the instructions before the last one."""


def kernel_text() -> str:
    """A kernel whose threads read what others of their block have stored, multiply and add in a loop."""
    elements, shared = (
        f"memref<{_THREADS * _BLOCKS}xf32>",
        f"memref<{_THREADS}xf32, #gpu.address_space<workgroup>>",
    )
    return f"""
gpu.module @m {{
  gpu.func @k(%x: {elements}, %y: {elements}) workgroup(%s: {shared}) kernel
      attributes {{gpu.known_block_size = array<i32: {_THREADS}, 1, 1>}} {{
    %t = gpu.thread_id x
    %i = gpu.global_id x
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %threads = arith.constant {_THREADS} : index
    %steps = arith.constant {_STEPS} : index
    %v = memref.load %x[%i] : {elements}
    memref.store %v, %s[%t] : {shared}
    gpu.barrier
    %r = scf.for %k = %zero to %steps step %one iter_args(%sum = %v) -> (f32) {{
      %u = arith.addi %t, %k : index
      %j = arith.remui %u, %threads : index
      %w = memref.load %s[%j] : {shared}
      %p = arith.mulf %w, %sum : f32
      %q = arith.addf %p, %v : f32
      scf.yield %q : f32
    }}
    memref.store %r, %y[%i] : {elements}
    gpu.return
  }}
}}
func.func @main(%x: {elements}, %y: {elements}) {{
  %one = arith.constant 1 : index
  %blocks = arith.constant {_BLOCKS} : index
  %threads = arith.constant {_THREADS} : index
  gpu.launch_func @m::@k blocks in (%blocks, %one, %one) threads in (%threads, %one, %one)
      args(%x : {elements}, %y : {elements})
  func.return
}}"""


def lane_operations() -> list[dict[str, object]]:
    """The operations of a lane in a second of processor time, with all checks; only a loop is counted."""
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.dialects.parser import parse_module
    from stepwell.lowering.emit_ptx import emit_ptx
    from stepwell.lowering.interpret import interpret
    from stepwell.lowering.interpret.ptx import ptx_launcher

    module, target = parse_module(StepwellContext(), kernel_text()), sw.Target("cuda")
    (loop,) = [op for op in module.walk() if op.name == "scf.for"]
    found = _LOOP.search(emit_ptx(module, target).text)
    assert found is not None
    counts = len([*loop.regions[0].block.ops]), found[2].count(";") + 1
    launchers = None, ptx_launcher(module, target)
    x = np.random.default_rng(0).standard_normal(_THREADS * _BLOCKS, np.float32) / 16
    rows: list[dict[str, object]] = []
    for kind, count, launcher in zip(_INTERPRETERS, counts, launchers, strict=True):
        arrays = [x, np.zeros_like(x)]
        spent = min(
            _processor_seconds(
                lambda: interpret(module, StepwellContext(), "main", arrays, launcher=launcher)  # noqa: B023
            )
            for _ in range(_RUNS)
        )
        millions = count * _STEPS * _THREADS * _BLOCKS / spent / 1e6
        rows.append(
            {"device": kind, "operations of a step": count, "M lane-operations/CPU-s": round(millions, 1)}
        )
    return rows


def _processor_seconds(call: Callable[[], object]) -> float:
    begin = process_time()
    call()
    return process_time() - begin


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a line for each device and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(arguments)
    kinds = [info.kind for info in devices()[0] if info.kind != "npu"]
    rows = [measured(ROOT / "examples/digits.onnx", kind, n) for kind in kinds for n in (1, 64)]
    rows += lane_operations()
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
