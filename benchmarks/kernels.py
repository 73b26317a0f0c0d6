"""
Matrix products and convolutions against the machine's measured FMA peak: `python -m benchmarks.kernels`.

Each shape is a model of one node, compiled as any model is and run on one thread; the peak is that of a loop
of independent fused multiply-adds in registers, measured in the same run.
"""

from __future__ import annotations

import ctypes
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from stepwell.lowering.machine import compile_to_object
from stepwell.runtime.engine import load_objects
from stepwell.runtime.interface import Array
from stepwell.runtime.target import host_target
from stepwell.tools.driver import compile

_ACCUMULATORS = 20  # enough to hide the latency of two FMA units, few enough to stay in registers
_STEPS = 200_000
_SAMPLES = 15


@dataclass(frozen=True)
class Case:
    """One shape: a model, its input, and the floating-point operations of a run."""

    name: str
    model: onnx.ModelProto
    feed: Array
    flops: int


def matmul(m: int, n: int, k: int) -> Case:
    """`[m, k] @ [k, n]` with a constant right side."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((k, n)).astype(np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul")
    model = _model(node, [m, k], [m, n], weight)
    return Case(f"matmul {m}x{n}x{k}", model, rng.standard_normal((m, k)).astype(np.float32), 2 * m * n * k)


def conv(channels: int, out_channels: int, size: int, kernel: int, stride: int = 1) -> Case:
    """A square convolution between two 1x1 ones is what a network has; alone it pays for its layouts."""
    rng = np.random.default_rng(0)
    out = -(-size // stride)
    pad = kernel // 2
    weight = rng.standard_normal((out_channels, channels, kernel, kernel)).astype(np.float32)
    node = helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        name="conv",
        strides=[stride] * 2,
        pads=[pad] * 4,
        kernel_shape=[kernel] * 2,
    )
    model = _model(node, [1, channels, size, size], [1, out_channels, out, out], weight)
    feed = rng.standard_normal((1, channels, size, size)).astype(np.float32)
    flops = 2 * out_channels * out * out * channels * kernel * kernel
    return Case(f"conv {kernel}x{kernel} {channels}->{out_channels} @{size}", model, feed, flops)


CASES: tuple[Callable[[], Case], ...] = (
    lambda: matmul(1024, 1024, 1024),
    lambda: matmul(128, 768, 3072),
    lambda: matmul(128, 3072, 768),
    lambda: matmul(196, 1024, 256),
    lambda: matmul(128, 768, 768),
    lambda: conv(64, 64, 56, 3),
    lambda: conv(128, 128, 28, 3),
    lambda: conv(256, 256, 14, 3),
    lambda: conv(512, 512, 7, 3),
    lambda: conv(64, 256, 56, 1),
    lambda: conv(256, 64, 56, 1),
    lambda: conv(128, 512, 28, 1),
    lambda: conv(512, 128, 28, 1),
    lambda: conv(256, 1024, 14, 1),
    lambda: conv(1024, 256, 14, 1),
    lambda: conv(512, 2048, 7, 1),
    lambda: conv(2048, 512, 7, 1),
)


def _model(node: onnx.NodeProto, shape: list[int], out: list[int], weight: Array) -> onnx.ModelProto:
    graph = helper.make_graph(
        [node],
        "kernel",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
        [numpy_helper.from_array(weight, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def fma_peak() -> float:
    """Floating-point operations a second of fused multiply-adds on the widest vectors, one thread."""
    target = host_target()
    lanes = target.lanes(4)
    type = f"<{lanes} x float>"
    names = range(_ACCUMULATORS)
    phis = "\n".join(f"  %a{i} = phi {type} [ %x, %entry ], [ %b{i}, %loop ]" for i in names)
    steps = "\n".join(
        f"  %b{i} = call {type} @llvm.fma.v{lanes}f32({type} %a{i}, {type} %x, {type} %a{i})" for i in names
    )
    total = "\n".join(f"  %s{i} = fadd {type} %b{i}, {'%x' if i == 0 else f'%s{i - 1}'}" for i in names)
    text = f"""
declare {type} @llvm.fma.v{lanes}f32({type}, {type}, {type})
define void @peak(ptr %p, i64 %n) {{
entry:
  %x = load {type}, ptr %p, align 4
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
{phis}
{steps}
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %end
end:
{total}
  store {type} %s{_ACCUMULATORS - 1}, ptr %p, align 4
  ret void
}}
"""
    library = load_objects([compile_to_object(text, target, optimize=False)])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("peak"))
    buffer = np.zeros(lanes, np.float32)
    seconds = _fastest(lambda: run(buffer.ctypes.data, _STEPS))
    return 2 * lanes * _ACCUMULATORS * _STEPS / seconds


def _fastest(work: Callable[[], object]) -> float:
    work()
    times: list[float] = []
    for _ in range(_SAMPLES):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return float(np.min(times))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown; returns the exit status."""
    ArgumentParser(prog="benchmarks.kernels", description=__doc__).parse_args(argv)
    peak = fma_peak()
    print(f"FMA peak of one thread: {peak / 1e9:.1f} GFLOP/s\n")
    print("| kernel | µs | GFLOP/s | of the peak |\n|---|---|---|---|")
    for make in CASES:
        case = make()
        model = compile(case.model, threads=1)
        seconds = _fastest(lambda run=model, x=case.feed: run(x))
        rate = case.flops / seconds
        print(f"| {case.name} | {1e6 * seconds:.0f} | {rate / 1e9:.1f} | {rate / peak:.0%} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
