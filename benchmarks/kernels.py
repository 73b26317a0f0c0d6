"""
Single kernels against the machine and the engines that are installed: `python -m benchmarks.kernels`.

Each kernel is a model of a node or a few, compiled as any model is and run on one thread; engines take turns.
Matrix products and convolutions are shown as a share of the FMA peak, the others as a share of the bandwidth
of a copy of as many bytes. Time is processor time, the least of some rounds' medians, which other processes
affect least. Convolutions are direct ones: without Winograd.
"""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np
import onnx

from benchmarks.cases.kernels import CHANNELS_LAST, CONV, MATMUL, RECURRENT, SMALL_FLOATS, Case
from benchmarks.cases.movement import ELEMENTWISE, MOVEMENT, ROWS
from stepwell.runtime.interface import Array
from stepwell.runtime.rpc.interleaved import interleave
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.calibrate import machine_limits
from stepwell.tools.measure.peers import Runner, engine_named

GROUPS: Mapping[str, Sequence[Case]] = {
    "matmul": MATMUL,
    "conv": CONV,
    "channels-last": CHANNELS_LAST,
    "small-floats": SMALL_FLOATS,
    "recurrent": RECURRENT,
    "rows": ROWS,
    "elementwise": ELEMENTWISE,
    "movement": MOVEMENT,
}
_PEERS = ("onnxruntime", "openvino")
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True)
class Measured:
    """The measurement of a kernel: seconds of each engine, bytes and operations."""

    case: Case
    seconds: Mapping[str, float]
    bytes: int
    failed: Mapping[str, str]

    def share(self) -> float:
        """The kernel's rate as a share of the machine's limit."""
        ours = self.seconds["stepwell"]
        if self.case.flops:
            return self.case.flops / ours / machine_limits().flops(1)
        return copy_seconds(self.bytes) / ours

    def best_ratio(self) -> float:
        """The best peer's time over ours; infinite without peers."""
        peers = [seconds for name, seconds in self.seconds.items() if name != "stepwell"]
        return min(peers, default=float("inf")) / self.seconds["stepwell"]

    def row(self, names: Sequence[str]) -> str:
        """A line of the table."""
        ours = self.seconds["stepwell"]
        rate = (self.case.flops or self.bytes) / ours / 1e9
        ratios = [
            f"{self.seconds[n] / ours:.2f}" if n in self.seconds else self.failed.get(n, "") for n in names
        ]
        cells = [self.case.name, f"{1e6 * ours:.0f}", f"{rate:.1f}", f"{self.share():.0%}", *ratios]
        return f"| {' | '.join([*cells, f'{self.best_ratio():.2f}'])} |"


@cache
def copy_seconds(bytes: int) -> float:
    """Seconds to copy so much that `bytes` are read or written together."""
    source, target = np.ones(bytes // 2, np.uint8), np.ones(bytes // 2, np.uint8)

    def run() -> Sequence[Array]:
        np.copyto(target, source)
        return ()

    return min(interleave({"copy": run}, 5, process_time)["copy"].rounds)


def measure(case: Case, peers: Sequence[str], rounds: int, mcpu: str = "host") -> Measured:
    """Run a kernel in every engine that accepts it; ours compiled for `mcpu`, peers for this processor."""
    model, feeds = case.model(), case.feeds()
    compiled = compile(model, threads=1, winograd="off", mcpu=mcpu)
    arrays = [feeds[spec.name] for spec in compiled.interface.inputs]

    def ours() -> Sequence[Array]:
        outputs = compiled(*arrays)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    runners: dict[str, Runner] = {"stepwell": ours}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.onnx"
        onnx.save(model, str(path))
        for name in peers:
            try:
                runners[name] = engine_named(name).load(path, 1, feeds)
                runners[name]()
            except Exception:  # engines refuse a kernel each in its own way
                runners.pop(name, None)
                failed[name] = "-"
    if len(case.nodes) == 1 and case.nodes[0].op_type == "MatMul":
        runners["numpy"] = _numpy_product(model, feeds)
    moved = _moved_bytes(case, model, feeds, ours())
    latencies = interleave(runners, rounds, process_time)
    return Measured(case, {name: min(latency.rounds) for name, latency in latencies.items()}, moved, failed)


def _numpy_product(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Runner:
    values = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer} | dict(feeds)
    lhs, rhs = (values[name] for name in model.graph.node[0].input)
    return lambda: [np.matmul(lhs, rhs)]


def _moved_bytes(
    case: Case, model: onnx.ModelProto, feeds: Mapping[str, Array], outputs: Sequence[Array]
) -> int:
    """The bytes that a kernel must read and write; data movement reads no more than it writes."""
    read = sum(a.nbytes for a in feeds.values()) + sum(len(w.raw_data) for w in model.graph.initializer)
    written = sum(np.asarray(a).nbytes for a in outputs)
    return written + (min(read, written) if case in MOVEMENT else read)


def report(results: Sequence[Measured], peers: Sequence[str]) -> str:
    """The summary of the figures: the median share, and the kernels that are slower than the best peer."""
    shares = [r.share() for r in results]
    behind = [r.case.name for r in results if r.best_ratio() < 0.95]
    lines = [f"median share {np.median(shares):.0%}; behind the best peer: {len(behind)} of {len(results)}"]
    if not results[0].case.flops:
        slow = [r.case.name for r in results if r.share() < 0.9 and r.best_ratio() < 1]
        lines.append(f"below 0.9 of a copy and behind the best peer: {len(slow)} of {len(results)}")
        behind = slow
    return "\n".join([*lines, *(f"  {name}" for name in behind)])


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.kernels", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"which (default: all): {', '.join(GROUPS)}")
    parser.add_argument("--match", default="", help="only kernels whose name contains this")
    parser.add_argument("--against", default=",".join(_PEERS), help="engines, with commas between")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mcpu", default="host", help="what our kernels are compiled for: x86-64-v3, …")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print tables in Markdown; returns the exit status."""
    args = _arguments(argv)
    peers = [name for name in args.against.split(",") if name]
    names = [*peers, "numpy"]
    print(f"FMA peak of one thread: {machine_limits().flops(1) / 1e9:.1f} GFLOP/s")
    for group in args.groups or GROUPS:
        print(f"\n## {group}\n\n| kernel | µs | G/s | of the limit | {' | '.join(names)} | best peer |")
        print(f"|---|{'---|' * (len(names) + 4)}", flush=True)
        results: list[Measured] = []
        for case in GROUPS[group]:
            if args.match in case.name:
                results.append(measure(case, peers, args.rounds, args.mcpu))
                print(results[-1].row(names), flush=True)
        if results:
            print("\n" + report(results, peers), flush=True)
    return 0


if __name__ == "__main__":
    if _BLAS_THREADS not in os.environ:  # numpy's BLAS reads it when it is loaded
        os.execve(
            sys.executable,
            [sys.executable, "-m", "benchmarks.kernels", *sys.argv[1:]],
            {**os.environ, _BLAS_THREADS: "1"},
        )
    raise SystemExit(main())
