"""
Exported models against their bounds, each figure *met* or *missed*: `python -m benchmarks.deploy`.

Sizes of the files of a small model; the time to export a compiled model, and the memory for it; the time of a
call through `NAME_run` of a model of one operator, over that of `NAME_main`, and in another process, by a
session of `rpc` (whose server needs cryptography); of whole models as exported libraries, against the
same models in Python, in turn; code and memory of a classifier on a microcontroller; requests a second of a
server. Milliseconds are the median, the time of a call is the least. `python -m benchmarks.web` measures
models for WebAssembly. onnx2c and TVM's C, against which models as C are to be compared, are in no package
index: the row says so.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import onnx
import onnx.parser

import stepwell
from benchmarks.zoo import model_path
from stepwell.runtime.files.exported import SYSTEM_SUFFIXES
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.demands import system_of
from stepwell.runtime.machine.target import C_TARGET
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.connection import Connection
from stepwell.runtime.targets.cpu import cpu_rows
from stepwell.tools.inputs import completed_inputs

MODELS = ("basic_pitch", "mobilenet_v2", "light_resnet50")
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
_ROUNDS = 15


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS, help="names of the zoo")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes(folder)
        call_time(folder)
        call_there_time()
        source(folder)
        microcontroller(folder)
        for model in args.models:
            whole_model(model, folder)
        served(folder)


def row(what: str, found: str, bound: str, met: bool | None = None) -> None:
    """Print a figure; `met` is None for one without a bound of its own, or that was not measured."""
    judged = {True: "met", False: "MISSED", None: "-"}[met]
    print(f"{judged:<7} {what}: {found} (bound: {bound})", flush=True)


def sizes(folder: Path) -> None:
    """Print the bytes of a small model's library or module, weights apart, for each row of the table."""
    model = onnx.parser.parse_model(_TINY)
    for cpu in cpu_rows().values():
        if cpu.name == C_TARGET:
            continue
        suffix = "wasm" if cpu.arch == "wasm32" else SYSTEM_SUFFIXES[system_of(cpu.triple)][-1].lstrip(".")
        done = stepwell.export(model, folder / f"tiny.{suffix}", mcpu=cpu.name)
        size = (folder / f"tiny.{suffix}").stat().st_size - done.weight_bytes
        # A file of macOS ends at a page of 16 KB, and has a signature.
        bound = 12 << 10 if suffix == "wasm" else 16 << 10 if suffix == "so" else None
        met = None if bound is None else size <= bound
        shown = "none" if bound is None else f"{bound} bytes"
        row(f"tiny .{suffix} {cpu.name}", f"{size} bytes, code {done.code_bytes}", shown, met)


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


def call_time(folder: Path) -> None:
    """Print the time of a call of one operator from C, and its overhead over `main`."""
    compiler = shutil.which("cc")
    if compiler is None:
        row("one operator from C", "no C compiler here", "0.3 us")
        return
    stepwell.export(onnx.parser.parse_model(_RELU), folder / "one.a")
    (folder / "one.c").write_text(_CALLER)
    subprocess.run([compiler, "-O2", "one.c", "one.a", "-o", "one"], cwd=folder, check=True)
    done = subprocess.run([folder / "one"], capture_output=True, text=True, check=True)
    over = float(done.stdout.split(",")[1].split()[0])
    row("one operator from C", done.stdout, "0.3 us over NAME_main", over <= 0.3)


_DIGITS = """
#define _POSIX_C_SOURCE 200809L
#include "digits.h"
#include <stdio.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(void) {
  static float x[64], y[10];
  static unsigned char memory[DIGITS_WORKSPACE_BYTES + 64];
  digits_inputs in = {x};
  digits_outputs out = {y};
  digits_call call = {0};
  double least = 1e9;
  for (int i = 0; i < 64; i++) x[i] = (float)(i % 17) / 16.0f;
  call.workspace = memory + (64 - (uintptr_t)memory % 64) % 64;
  call.workspace_bytes = DIGITS_WORKSPACE_BYTES;
  for (int round = 0; round < 50; round++) {
    double begin = now();
    for (int i = 0; i < 1000; i++) digits_run(&in, &out, &call);
    begin = now() - begin;
    least = begin < least ? begin : least;
  }
  printf("%.2f us a call", 1e3 * least);
  return 0;
}
"""


def source(folder: Path) -> None:
    """Print sizes and the time of a call of the digit classifier as C source, at -O2."""
    compiler = shutil.which("cc")
    if compiler is None:
        row("digits.c", "no C compiler here", "1.5 x onnx2c")
        return
    model = Path(__file__).parents[1] / "examples" / "digits.onnx"
    done = stepwell.export(model, folder / "digits.c", input_shapes={"pictures": (1, 64)})
    (folder / "call.c").write_text(_DIGITS)
    for extra in ("", "digits.so"):
        if extra:
            stepwell.export(model, folder / "digits.so", input_shapes={"pictures": (1, 64)})
        code = f"./{extra}" if extra else "digits.c"
        line = [compiler, "-std=c99", "-O2", "call.c", code, "-Wl,-rpath,.", "-o", "call"]
        subprocess.run(line, cwd=folder, check=True)
        shown = subprocess.run(["./call"], cwd=folder, capture_output=True, text=True, check=True)
        row(extra or "digits.c", shown.stdout, "none")
    other = (
        "onnx2c is here: compare by hand" if shutil.which("onnx2c") else "SKIPPED: onnx2c is not installed"
    )
    row("digits.c against onnx2c", other, "1.5 x, less RAM")
    memory = f"workspace {done.workspace}, stack at most {done.stack_bytes}, weights {done.weight_bytes}"
    row("digits.c, bytes", memory, "none")


def microcontroller(folder: Path) -> None:
    """Print code and memory of the classifier on a Cortex-M4, weights apart."""
    what, bound = "digits.c on a Cortex-M4", "16 KB, tflite-micro's core without an arena"
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        row(what, "SKIPPED: no arm-none-eabi-gcc here", bound)
        return
    model = Path(__file__).parents[1] / "examples" / "digits.onnx"
    done = stepwell.export(model, folder / "digits.c", input_shapes={"pictures": (1, 64)})
    cpu = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
    line = [compiler, *cpu, "-Os", "-ffreestanding", "-c", "digits.c", "-o", "digits.o"]
    subprocess.run(line, cwd=folder, check=True)
    tool = compiler.replace("gcc", "size")
    shown = subprocess.run([tool, "digits.o"], cwd=folder, capture_output=True, text=True, check=True)
    text, data, zeros = map(int, shown.stdout.splitlines()[1].split()[:3])
    code, ram = text - done.weight_bytes, data + zeros + int(done.workspace) + done.stack_bytes
    found = f"code {code} bytes, RAM {ram} bytes, weights {done.weight_bytes} bytes"
    row(what, found, bound, code + ram < 16 << 10)


def call_there_time() -> None:
    """Print the time of a call of one operator in a process of its own, and on a server on loopback."""
    model = stepwell.compile(onnx.parser.parse_model(_RELU))
    x = np.ones(16, np.float32)
    try:
        with stepwell.rpc.local() as session:
            there = session.load(model, threads=1)
            row("one operator in a process of its own", f"{_least_call(there, x):.3f} ms", "0.5 ms")
            here = _time_there(session)
    except stepwell.StepwellError as error:
        row("rpc", f"SKIPPED: {error.message}", "0.5 ms")
        return
    command = [sys.executable, "-m", "stepwell", "rpc", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        try:
            with stepwell.rpc.connect(f"rpc://{address}") as session:
                there = session.load(model, threads=1)
                milliseconds = _least_call(there, x)
                row(
                    "one operator on a server on loopback, TLS",
                    f"{milliseconds:.3f} ms",
                    "0.5 ms",
                    milliseconds <= 0.5,
                )
                ratio = _time_there(session) / here
                row(
                    "time of a call there, over that here",
                    f"{ratio:.3f}",
                    "0.98 to 1.02",
                    abs(ratio - 1) <= 0.02,
                )
        finally:
            server.terminate()


def _time_there(session: Connection) -> float:
    """The least time of a small model's call, as a session measures it, in seconds."""
    model = stepwell.compile(onnx.parser.parse_model(_TINY))
    generator = np.random.default_rng(0)
    shapes = ((16, 3, 32, 32), (16, 3, 3, 3), (16, 10))
    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    return min(session.time(session.load(model, threads=1), arrays, number=20, repeat=15).seconds)


def served(folder: Path) -> None:
    """Print requests a second, and the gain of batches."""
    from benchmarks import serving

    onnx.save(onnx.parser.parse_model(serving.ONE), folder / "one.onnx")
    try:
        one = serving.served(folder / "one.onnx", [16])
    except FileNotFoundError as error:
        row("serve", f"SKIPPED: {error}", "2,000 requests/s")
        return
    shown = f"{one.rate:.0f} requests/s, {one.cpu_ms:.2f} ms of the core each"
    row("serve, one operator", shown, "2,000 requests/s: 0.5 ms", one.cpu_ms <= 0.5)
    serving.mlp(folder / "mlp.onnx", 4096)
    single = serving.rate(folder / "mlp.onnx", [1, 4096], "--max-batch", "1", "--instances", "4")
    batched = serving.rate(folder / "mlp.onnx", [1, 4096], "--max-batch", "16")
    ratio = batched / single
    row("batches of an MLP of three 4096x4096", f"{ratio:.2f} x single calls", "3 x", ratio >= 3)


def _least_call(model: CompiledModel, x: Array) -> float:
    """The least median of a call over rounds, in milliseconds."""
    rounds: list[float] = []
    for _ in range(_ROUNDS):
        seconds: list[float] = []
        for _ in range(100):
            begin = perf_counter()
            model(x)
            seconds.append(perf_counter() - begin)
        rounds.append(1e3 * median(seconds))
    return min(rounds)


def whole_model(name: str, folder: Path) -> None:
    """Print the time of an export, and calls of the library and the model in turn, on one thread."""
    if (path := model_path(name)) is None:
        row(name, "SKIPPED: not available here", "same bits")
        return
    compiled = stepwell.compile(path, threads=1)
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
    memory = grown / max(1, done.weight_bytes)
    for suffix, bound in (("a", 0.5), ("so", 1.0)):
        seconds = export_seconds[suffix]
        row(f"{name}: export to .{suffix}", f"{seconds:.2f} s", f"{bound} s", seconds <= bound)
    row(f"{name}: memory of both exports", f"+{memory:.2f} x weights", "2.5 x", memory <= 2.5)
    bits = "same bits" if same else "OTHER BITS"
    found = f"{milliseconds:.2f} ms, {ratio:.3f} of model(x), {bits}"
    row(f"{name}: .so against model(x)", found, "same bits, 1.00 and noise", same and ratio <= 1.05)


def _compared(
    model: CompiledModel, library: CompiledModel, feeds: Mapping[str, object]
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
