"""
Products with weights of a few bits against ONNX Runtime: `python -m benchmarks.low_precision`.

A model is one MatMulNBits with random weights and any number of rows. ONNX Runtime runs it with accuracy
level 0 (f32 activations) and 4 (int8 activations); a ratio is its time over ours, both the least
median of the rounds in which they take turns. `f32` is the ratio of our product with weights in f32.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from stepwell.runtime.rpc.interleaved import geometric_mean, interleave
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.peers import Runner, engine_named

SHAPES = (
    (896, 4864),
    (896, 896),
    (4864, 896),
    (2048, 2048),
    (2048, 5632),
    (5632, 2048),
    (4096, 4096),
    (4096, 11008),
)
"""Steps and columns: of Qwen2-0.5B, TinyLlama and Llama-7B."""
LEVELS = (0, 4)
"""ONNX Runtime's accuracy levels."""


def nbits_model(steps: int, columns: int, bits: int = 4, block: int = 32, level: int = 0) -> onnx.ModelProto:
    """A model of one product with random weights, symmetric and of `bits` bits in blocks."""
    random, blocks = np.random.default_rng(0), -(-steps // block)
    codes = random.integers(0, 256, (columns, blocks, block * bits // 8), dtype=np.uint8)
    scales = random.uniform(0.001, 0.01, (columns, blocks)).astype(np.float32)
    sizes: dict[str, Any] = {"K": steps, "N": columns, "bits": bits, "block_size": block}
    node = helper.make_node(
        "MatMulNBits", ["x", "b", "s"], ["y"], domain="com.microsoft", accuracy_level=level, **sizes
    )
    return _model(node, (steps, columns), {"b": codes, "s": scales})


def f32_model(steps: int, columns: int) -> onnx.ModelProto:
    """A model of one product of any number of rows with random weights in f32."""
    weights = np.random.default_rng(0).standard_normal((steps, columns)).astype(np.float32)
    return _model(helper.make_node("MatMul", ["x", "b"], ["y"]), (steps, columns), {"b": weights})


def _model(
    node: onnx.NodeProto, shape: tuple[int, int], weights: Mapping[str, npt.NDArray[Any]]
) -> onnx.ModelProto:
    """A model of one product of any number of rows, by its steps and columns."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width])
        for name, width in zip("xy", shape, strict=True)
    )
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_graph([node], "product", [x], [y], constants)
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def measure(
    shape: tuple[int, int], rows: int, args: Namespace, folder: Path
) -> tuple[float, Mapping[str, float]]:
    """Our seconds for a product; and those of ONNX Runtime by level, and of floats; all take turns."""
    x = np.random.default_rng(1).standard_normal((rows, shape[0])).astype(np.float32)
    path = folder / "product.onnx"
    runners: dict[str, Runner] = {}
    for level in LEVELS:
        onnx.save(nbits_model(*shape, args.bits, args.block, level), path)
        runners[f"{level}"] = engine_named("onnxruntime").load(path, args.threads, {"x": x})
    made = nbits_model(*shape, args.bits, args.block)
    model = compile(made, threads=args.threads, activations=args.activations)
    runners["stepwell"] = partial(lambda model, x: [model(x)], model, x)
    _expect_equal(runners, "4" if args.activations == "int8" else "0")
    floats = compile(f32_model(*shape), threads=args.threads)
    runners["f32"] = partial(lambda model, x: [model(x)], floats, x)
    found = interleave(runners, args.rounds, perf_counter)
    least = {name: min(latency.rounds) for name, latency in found.items()}
    return least.pop("stepwell"), least


def _expect_equal(runners: Mapping[str, Runner], level: str) -> None:
    """Require our result to be that of the level with the same activations."""
    wanted, found = (np.asarray(runners[name]()[0], np.float64) for name in (level, "stepwell"))
    if not np.allclose(found, wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max()):
        raise SystemExit(f"results differ by {np.abs(found - wanted).max()}")


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.low_precision", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 128])
    parser.add_argument("--bits", type=int, default=4, choices=(2, 4, 8))
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--activations", default="f32", choices=("f32", "int8"), help="ours")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--shapes", nargs="+", default=[f"{k}x{n}" for k, n in SHAPES], metavar="KxN")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown; returns the exit status."""
    args = _arguments(argv)
    print("| rows | shape | µs | GMAC/s | ONNX Runtime, level 0 | level 4 | f32 |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    ratios: dict[tuple[int, str], list[float]] = {}
    for rows, text in product(args.rows, args.shapes):
        steps, columns = (int(part) for part in text.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            ours, peers = measure((steps, columns), rows, args, Path(folder))
        for peer, seconds in peers.items():
            ratios.setdefault((rows, peer), []).append(seconds / ours)
        speed = rows * steps * columns / ours / 1e9
        columns_of_peers = " | ".join(f"{seconds / ours:.2f}" for seconds in peers.values())
        print(f"| {rows} | {text} | {1e6 * ours:.0f} | {speed:.1f} | {columns_of_peers} |", flush=True)
    for (rows, peer), values in ratios.items():
        name = peer if peer == "f32" else f"level {peer}"
        print(f"{rows} rows, {name}: geometric mean {geometric_mean(values):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
