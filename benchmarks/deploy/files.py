"""Files of exported models: their sizes, the time and memory that writing takes, and calls of libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import onnx.parser

import stepwell
from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, model_path
from stepwell.runtime.files.suffixes import SYSTEM_SUFFIXES
from stepwell.runtime.machine.target import C_TARGET
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.targets.cpu import cpu_rows
from stepwell.runtime.targets.triples import system_of

TINY = """
<ir_version: 8, opset_import: ["" : 17]>
tiny (float[N, 3, 32, 32] x, float[16, 3, 3, 3] w, float[16, 10] v) => (float[N, 10] y) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w) r = Relu (c) p = GlobalAveragePool (r) f = Flatten (p)
  g = MatMul (f, v) y = Softmax (g)
}
"""
_EXPORTED = "light_resnet50"
_ROUNDS = 15
_EXPORTS = 5
"""The median counts: pages that a virtual machine has given back to its host cost five times those it has."""
_LEAST_SECONDS = 2e-3
"""Of a sample: shorter calls are repeated, as their times would be those of the clock."""


def sizes(folder: Path) -> Iterator[Figure]:
    """The bytes of a small model's library or module, weights apart, for each target."""
    model = onnx.parser.parse_model(TINY)
    for cpu in cpu_rows().values():
        if cpu.name == C_TARGET:
            continue
        suffix = "wasm" if cpu.arch == "wasm32" else SYSTEM_SUFFIXES[system_of(cpu.triple)][-1].lstrip(".")
        done = stepwell.export(model, folder / f"tiny.{suffix}", mcpu=cpu.name)
        size = (folder / f"tiny.{suffix}").stat().st_size - done.weight_bytes
        what, found = f"tiny: .{suffix} for {cpu.name}", f"{size} bytes, code {done.code_bytes}"
        # A file of macOS ends at a page of 16 KB, and has a signature.
        if (bound := {"wasm": 12 << 10, "so": 16 << 10}.get(suffix)) is None:
            yield Figure(what, found, "none")
        else:
            yield judged(what, found, f"{bound >> 10} KB", size <= bound)


_EXPORT = """
import json, sys
from resource import RUSAGE_SELF, getrusage
from time import perf_counter
import stepwell
artifact, small, file = sys.argv[1:]
stepwell.export(small, file)  # imports what an export needs
before, begin = getrusage(RUSAGE_SELF), perf_counter()
done = stepwell.export(artifact, file)
seconds, after = perf_counter() - begin, getrusage(RUSAGE_SELF)
used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
grown = 1024 * (after.ru_maxrss - before.ru_maxrss)
print(json.dumps([seconds, used, grown / done.weight_bytes, done.weight_bytes]))
"""


def exported(folder: Path) -> Iterator[Figure]:
    """The time to export a compiled model in a new process, and the memory for it."""
    if (path := model_path(_EXPORTED)) is None:
        yield skipped(f"{_EXPORTED}: export", "not available here", "1 s")
        return
    artifact, small = str(folder / "m.stepwell"), str(folder / "small.stepwell")
    stepwell.compile(path, threads=1).save(artifact)
    stepwell.compile(onnx.parser.parse_model(TINY)).save(small)
    copied = _copy_seconds(Path(artifact), folder / "copy")
    yield Figure(f"{_EXPORTED}: a copy of the artifact", f"{copied:.2f} s of the processor", "none")
    for suffix, bound in (("a", 0.5), ("so", 1.0)):
        command = [sys.executable, "-c", _EXPORT, artifact, small, str(folder / f"m.{suffix}")]
        done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(_EXPORTS)]
        rows = sorted((json.loads(each.stdout) for each in done), key=lambda row: row[1])
        seconds, used, memory, weights = rows[_EXPORTS // 2]
        what = f"{_EXPORTED}: export to .{suffix}"
        found = f"{used:.2f} s of the processor, {seconds:.2f} s, {weights / 1e6:.0f} MB of weights"
        yield judged(what, found, f"{bound} s", used <= bound)
        yield judged(f"{what}, memory", f"+{memory:.2f} x weights", "2.5 x", memory <= 2.5)


def _copy_seconds(source: Path, target: Path) -> float:
    """The median processor time to copy a file over another one: what new pages of so many bytes cost."""
    seconds, new = list[float](), target.with_suffix(".new")
    for _ in range(_EXPORTS):
        begin = process_time()
        with source.open("rb") as read, new.open("wb") as written:
            while block := read.read(1 << 20):
                written.write(block)
        new.replace(target)
        seconds.append(process_time() - begin)
    return median(seconds)


def library_time(name: str, folder: Path) -> Iterator[Figure]:
    """The time of a call of a library against that of the model, in turn, on one thread; and the bits."""
    what, bound = f"{name}: .so against model(x)", "same bits, 1.00 and noise"
    if (path := model_path(name)) is None:
        yield skipped(what, "not available here", bound)
        return
    known = {**F32_MODELS, **QUANTIZED_MODELS}[name]
    compiled = stepwell.compile(path, threads=1, input_shapes=known.input_shapes())
    try:
        stepwell.export(compiled, folder / "m.so")
    except stepwell.StepwellError as error:
        yield skipped(what, f"{error.code}: {error.message}", bound)
        return
    loaded = stepwell.load(folder / "m.so", threads=1)
    same, ratio, milliseconds = _compared(compiled, loaded, known.feeds())
    bits = "same bits" if same else "OTHER BITS"
    found = f"{milliseconds:.2f} ms of the processor, {ratio:.3f} of model(x), {bits}"
    yield judged(what, found, bound, same and ratio <= 1.05)


def _compared(
    model: CompiledModel, library: CompiledModel, feeds: Mapping[str, object]
) -> tuple[bool, float, float]:
    """Whether the bits are the same; the library's time over the model's; the library's milliseconds."""
    wanted, found = model.run(feeds), library.run(feeds)
    same = all(np.array_equal(found[name], wanted[name], equal_nan=True) for name in wanted)
    begin = process_time()
    model.run(feeds)
    calls = 1 + int(_LEAST_SECONDS / max(process_time() - begin, 1e-6))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for times, called in zip(seconds, (library, model), strict=True):
            begin = process_time()
            for _ in range(calls):
                called.run(feeds)
            times.append((process_time() - begin) / calls)
    ratio = median(own / other for own, other in zip(*seconds, strict=True))
    return same, ratio, 1e3 * median(seconds[0])
