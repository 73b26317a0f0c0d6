"""
Products with weights of a few bits against ONNX Runtime: `python -m benchmarks.low_precision.products`.

A model is one MatMulNBits with random weights and any number of rows. ONNX Runtime runs it with accuracy
level 0 (f32 activations) and 4 (int8 activations); a ratio is its time over ours, both the least
median of the rounds in which they take turns. `f32` is the ratio of our product with weights in f32.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.low_precision.measuring import Measuring, is_installed, ratios
from stepwell.runtime.machine.target import host_target
from stepwell.runtime.rpc.interleaved import geometric_mean
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.peers import Runner, engine_named

Activations = Literal["auto", "f32", "int8"]
Shape = tuple[int, int]
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
_BITS, _BLOCK = 4, 32
_MANY = 128
_PRESENT, _ABSENT = 2, 1
"""The byte that memory to read consists of, and another one."""


def nbits_model(
    steps: int, columns: int, bits: int = _BITS, block: int = _BLOCK, level: int = 0
) -> onnx.ModelProto:
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


def _model(node: onnx.NodeProto, shape: Shape, weights: Mapping[str, npt.NDArray[Any]]) -> onnx.ModelProto:
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
    shape: Shape,
    rows: int,
    how: Measuring,
    activations: Activations = "f32",
    *,
    bits: int = _BITS,
    block: int = _BLOCK,
    with_floats: bool = False,
) -> tuple[float, Mapping[str, float]]:
    """
    Our seconds for a product; and those of ONNX Runtime by level, and of floats; all take turns.

    With activations `auto` the model has level 4, which permits int8 for more rows than a few.
    """
    x = np.random.default_rng(1).standard_normal((rows, shape[0])).astype(np.float32)
    path, runners = how.folder / "product.onnx", dict[str, Runner]()
    for level in LEVELS if is_installed("onnxruntime") else ():
        onnx.save(nbits_model(*shape, bits, block, level), path)
        runners[f"{level}"] = engine_named("onnxruntime").load(path, how.threads, {"x": x})
    level = 4 if activations == "auto" else 0
    model = compile(nbits_model(*shape, bits, block, level), threads=how.threads, activations=activations)
    runners["stepwell"] = partial(lambda model, x: [model(x)], model, x)
    _expect_equal(runners, "0" if activations == "f32" else "4")
    if with_floats:
        floats = compile(f32_model(*shape), threads=how.threads)
        runners["f32"] = partial(lambda model, x: [model(x)], floats, x)
    least = how.least(runners)
    return least.pop("stepwell"), least


def _expect_equal(runners: Mapping[str, Runner], level: str) -> None:
    """Require our result to be that of the level with the same activations."""
    if level not in runners:
        return
    wanted, found = (np.asarray(runners[name]()[0], np.float64) for name in (level, "stepwell"))
    if not np.allclose(found, wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max()):
        raise SystemExit(f"results differ by {np.abs(found - wanted).max()}")


def one_row_figures(how: Measuring, activations: Activations) -> Iterator[Figure]:
    """One row against ONNX Runtime, in the cache and beyond."""
    what = f"w4, 1 row, {activations} activations"
    bounds = {"4": 1.3, "0": 2.5} if activations == "f32" else {"4": 2.5}
    if is_installed("onnxruntime"):
        found: dict[str, dict[str, float]] = {level: {} for level in bounds}
        for shape in SHAPES:
            ours, peers = measure(shape, 1, how, activations)
            for level in bounds:
                found[level]["x".join(map(str, shape))] = peers[level] / ours
        for level, bound in bounds.items():
            yield ratios(what, found[level], bound, f"ONNX Runtime's level {level}")
    else:
        yield skipped(what, "onnxruntime is not installed", f"{bounds} of ONNX Runtime's levels")
    yield _share_of_bandwidth(replace(how, clock=perf_counter, threads=2), activations)


def _share_of_bandwidth(how: Measuring, activations: Activations) -> Figure:
    """The bytes of weights in a second, as a share of what as many threads read from memory."""
    steps, columns = SHAPES[-1]
    while (nbytes := _bytes(steps, columns)) < 2 * host_target().l3_bytes:
        columns += SHAPES[-1][1]
    x = np.random.default_rng(1).standard_normal((1, steps)).astype(np.float32)
    model = compile(nbits_model(steps, columns), threads=how.threads, activations=activations)
    least = how.least({"stepwell": partial(model, x), "read": partial(_read, nbytes, how.threads)})
    share = least["read"] / least["stepwell"]
    rate = nbytes / least["stepwell"] / 1e9
    what = f"w4, 1 row, {activations} activations, {steps}x{columns}, {how.threads} threads"
    return judged(what, f"{rate:.1f} GB/s, {share:.2f}", ">= 0.9 of the read bandwidth", share >= 0.9)


def _bytes(steps: int, columns: int) -> int:
    """The bytes of codes and scales."""
    return steps * columns * _BITS // 8 + steps // _BLOCK * columns * 4


@cache
def _memory(nbytes: int) -> npt.NDArray[np.uint8]:
    return np.full(nbytes, _PRESENT, np.uint8)  # zeros that nothing wrote would all be one page


def _read(nbytes: int, threads: int) -> None:
    """Read so many bytes of memory by some threads: a search for a byte that is not there."""
    library, share = ctypes.CDLL(None), nbytes // threads
    library.memchr.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
    begin = _memory(nbytes).ctypes.data
    work = [
        Thread(target=library.memchr, args=(begin + number * share, _ABSENT, share))
        for number in range(threads)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()


def many_rows_figures(how: Measuring) -> Iterator[Figure]:
    """128 rows against the better level of ONNX Runtime: in floats, and as a model of level 4 permits."""
    names: Mapping[Activations, str] = {
        "f32": "f32 activations",
        "auto": "level 4, whose activations are int8",
    }
    for activations, name in names.items():
        what = f"w4, {_MANY} rows, {name}"
        if not is_installed("onnxruntime"):
            yield skipped(what, "onnxruntime is not installed", ">= 1.2 of ONNX Runtime's better level")
            continue
        found: dict[str, float] = {}
        for shape in (SHAPES[0], SHAPES[3], SHAPES[4]):
            ours, peers = measure(shape, _MANY, how, activations)
            found["x".join(map(str, shape))] = min(peers.values()) / ours
        yield ratios(what, found, 1.2, "ONNX Runtime's better level")


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.low_precision.products", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, _MANY])
    parser.add_argument("--bits", type=int, default=_BITS, choices=(2, 4, 8))
    parser.add_argument("--block", type=int, default=_BLOCK)
    parser.add_argument("--activations", default="f32", choices=("auto", "f32", "int8"), help="ours")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--processor-time", action="store_true", help="of the process, for a busy machine")
    parser.add_argument("--shapes", nargs="+", default=[f"{k}x{n}" for k, n in SHAPES], metavar="KxN")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown; returns the exit status."""
    args = _arguments(argv)
    clock = process_time if args.processor_time else perf_counter
    print("| rows | shape | µs | GMAC/s | ONNX Runtime, level 0 | level 4 | f32 |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    found: dict[tuple[int, str], list[float]] = {}
    for rows, text in product(args.rows, args.shapes):
        steps, columns = (int(part) for part in text.split("x"))
        with tempfile.TemporaryDirectory() as folder:
            how = Measuring(clock, args.rounds, args.threads, None, Path(folder))
            numbers = {"bits": args.bits, "block": args.block}
            ours, peers = measure((steps, columns), rows, how, args.activations, **numbers, with_floats=True)
        for peer, seconds in peers.items():
            found.setdefault((rows, peer), []).append(seconds / ours)
        speed = rows * steps * columns / ours / 1e9
        columns_of_peers = " | ".join(f"{seconds / ours:.2f}" for seconds in peers.values())
        print(f"| {rows} | {text} | {1e6 * ours:.0f} | {speed:.1f} | {columns_of_peers} |", flush=True)
    for (rows, peer), values in found.items():
        name = peer if peer == "f32" else f"level {peer}"
        print(f"{rows} rows, {name}: geometric mean {geometric_mean(values):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
