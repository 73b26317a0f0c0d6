"""
Exported models: `python -m benchmarks.deploy`.

Sizes of the files of a small model; the time to export a compiled model, and the memory for it; the time of a
call through `NAME_run` of a model of one operator, over that of `NAME_main`; and of whole models as exported
libraries, against the same models in Python, in turn. Milliseconds are the median, the time of a
call is the least.
"""

from __future__ import annotations

import ctypes
import resource
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import onnx.parser

import stepwell
from benchmarks.zoo import F32_MODELS, model_path
from stepwell.runtime.addresses import address_of
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.targets.cpu import cpu_rows
from stepwell.tools.inputs import completed_inputs

MODELS = ("squeezenet", "mobilenet_v2", "light_resnet50")
_RELU = """
<ir_version: 8, opset_import: ["" : 17]>
one (float[16] x) => (float[16] y) { y = Relu (x) }
"""
_TINY = """
<ir_version: 8, opset_import: ["" : 17]>
tiny (float[N, 3, 32, 32] x, float[16, 3, 3, 3] w, float[16, 10] v) => (float[N, 10] y) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w) r = Relu (c) p = GlobalAveragePool (r) f = Flatten (p)
  g = MatMul (f, v) y = Softmax (g)
}
"""
_ROUNDS, _CALLS = 15, 20_000


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS, help="names of the zoo")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes(folder)
        call_time(folder)
        for model in args.models:
            whole_model(model, folder)


def sizes(folder: Path) -> None:
    """Print the bytes of a small model's library, weights apart, for each CPU of the table."""
    model = onnx.parser.parse_model(_TINY)
    for row in cpu_rows().values():
        done = stepwell.export(model, folder / "tiny.so", mcpu=row.name)
        size = (folder / "tiny.so").stat().st_size - done.weight_bytes
        print(f"tiny .so {row.name:<16} {size:>7} bytes, code {done.code_bytes}")


def call_time(folder: Path) -> None:
    """Print the time of a call of one operator, through `run`, and of its `main` alone."""
    stepwell.export(onnx.parser.parse_model(_RELU), folder / "one.so")
    library = ctypes.CDLL(str(folder / "one.so"))
    x, y = np.ones(16, np.float32), np.empty(16, np.float32)
    workspace = np.zeros(4096, np.uint8)
    start = address_of(workspace) + -address_of(workspace) % 64
    inputs, outputs = (np.array([address_of(array)], np.uint64) for array in (x, y))
    call = np.zeros(10, np.uint64)
    call[:2] = start, workspace.nbytes - 64
    arrays = np.array([address_of(x), address_of(y), start], np.uint64)
    dims, context = np.zeros(1, np.int64), np.zeros(12, np.uint64)
    run = _bound(library.one_run, inputs, outputs, call)
    alone = _bound(library.one_main, arrays, dims, context)
    times = {name: min(_each(function)) for name, function in (("run", run), ("main", alone))}
    more = 1e6 * (times["run"] - times["main"])
    print(f"one operator: {1e6 * times['run']:.2f} us by NAME_run through ctypes, {more:.2f} over NAME_main")


def _bound(function: Callable[..., int], *arrays: np.ndarray) -> Callable[[], int]:
    addresses = [ctypes.c_void_p(address_of(array)) for array in arrays]
    return lambda: function(*addresses)


def _each(call: Callable[[], object]) -> list[float]:
    """The seconds of a call, in each round."""
    found: list[float] = []
    for _ in range(_ROUNDS):
        begin = perf_counter()
        for _ in range(_CALLS):
            call()
        found.append((perf_counter() - begin) / _CALLS)
    return found


def whole_model(name: str, folder: Path) -> None:
    """Print the time of an export, and calls of the library and the model in turn, on one thread."""
    if name not in F32_MODELS:
        print(f"{name}: not in the zoo")
        return
    compiled = stepwell.compile(model_path(name), threads=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    export_seconds: dict[str, float] = {}
    for suffix in ("a", "so"):
        begin = perf_counter()
        done = stepwell.export(compiled, folder / f"m.{suffix}")
        export_seconds[suffix] = perf_counter() - begin
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    loaded = stepwell.load(folder / "m.so", threads=1)
    feeds = completed_inputs(compiled.interface, {}, 0, {}, "random")
    same, ratio, milliseconds = _compared(compiled, loaded, feeds)
    shown = ", ".join(f".{suffix} {seconds:.2f} s" for suffix, seconds in export_seconds.items())
    print(
        f"{name}: export {shown}, memory +{grown / max(1, done.weight_bytes):.2f} x weights; "
        f".so {milliseconds:.2f} ms, {ratio:.3f} of model(x), {'same bits' if same else 'OTHER BITS'}"
    )


def _compared(
    model: CompiledModel, library: CompiledModel, feeds: dict[str, np.ndarray]
) -> tuple[bool, float, float]:
    """Whether the bits are the same; the library's time over the model's; the library's milliseconds."""
    wanted, found = model.run(feeds), library.run(feeds)
    same = all(np.array_equal(found[name], wanted[name], equal_nan=True) for name in wanted)
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for times, called in zip(seconds, (library, model), strict=True):
            begin = perf_counter()
            called.run(feeds)
            times.append(perf_counter() - begin)
    return same, median(seconds[0]) / median(seconds[1]), 1e3 * median(seconds[0])


if __name__ == "__main__":
    main()
