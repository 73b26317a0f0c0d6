"""Models as C: calls and memory against the C of onnx2c, and on a microcontroller."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

import stepwell
from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.zoo import REPOSITORY

_DIGITS = REPOSITORY / "examples" / "digits.onnx"
_FEATURES, _CHANNELS, _WORDS = (1, 1, 49, 10), 64, 12
_CALL = """
#define _POSIX_C_SOURCE 200809L
#include "%(file)s"
#include <stdio.h>
#include <time.h>
static float x[%(inputs)d], y[%(outputs)d];
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(void) {
  double least = 1e9;
  for (int i = 0; i < %(inputs)d; i++) x[i] = (float)(i %% 17) / 16.0f;
  %(setup)s
  for (int round = 0; round < 30; round++) {
    double begin = now();
    for (int i = 0; i < %(calls)d; i++) { %(call)s; }
    begin = now() - begin;
    least = begin < least ? begin : least;
  }
  printf("%%.6f", 1e6 * least / %(calls)d);
  for (int i = 0; i < %(outputs)d; i++) printf(" %%.6f", y[i]);
  return 0;
}
"""
_OURS = """
  static unsigned char memory[%(NAME)s_WORKSPACE_BYTES + 64];
  %(name)s_inputs in = {x};
  %(name)s_outputs out = {y};
  %(name)s_call call = {0};
  call.workspace = memory + (64 - (uintptr_t)memory %% 64) %% 64;
  call.workspace_bytes = %(NAME)s_WORKSPACE_BYTES;
"""


class _Case(NamedTuple):
    """A model with one input and one output of fixed sizes."""

    name: str
    path: Path
    inputs: int
    outputs: int
    calls: int


class _Called(NamedTuple):
    """The least time of a call in microseconds, and its outputs."""

    us: float
    outputs: tuple[float, ...]


def sources(folder: Path) -> Iterator[Figure]:
    """The classifier and a network that spots keywords as C, at -O2, against onnx2c's."""
    bound = "1.5 x onnx2c, less RAM"
    if (compiler := shutil.which("gcc")) is None:
        yield skipped("models as C", "gcc is not installed", bound)
        return
    for case in (_digits(folder), _keywords(folder)):
        done = stepwell.export(case.path, folder / f"{case.name}.c")
        ours = _ours(case, compiler, folder)
        ram = int(done.workspace) + _stack(compiler, folder / f"{case.name}.c")
        shown = f"{ours.us:.2f} us a call, workspace {done.workspace}, stack at most {done.stack_bytes} bytes"
        yield Figure(f"{case.name}.c", shown, "none")
        yield from _libraries(case, compiler, folder, ours)
        yield from _against(case, compiler, folder, ours, ram)
    yield skipped("models as C against TVM's", "its C calls the runtime of TVM, 0.27 has no other", bound)


def _ours(case: _Case, compiler: str, folder: Path, code: str = "") -> _Called:
    """A call of our C, or of a library of the same interface."""
    names = {"name": case.name, "NAME": case.name.upper()}
    call = f"{case.name}_run(&in, &out, &call)"
    return _run(case, compiler, folder, code or f"{case.name}.c", f"{case.name}.h", (_OURS % names, call))


def _run(
    case: _Case, compiler: str, folder: Path, code: str, included: str, text: tuple[str, str]
) -> _Called:
    facts = {"file": included, "inputs": case.inputs, "outputs": case.outputs, "calls": case.calls}
    (folder / "call.c").write_text(_CALL % {**facts, "setup": text[0], "call": text[1]})
    line = [compiler, "-std=c99", "-O2", "call.c", *([code] if code else []), "-Wl,-rpath,.", "-lm"]
    subprocess.run([*line, "-o", "call"], cwd=folder, check=True)
    done = subprocess.run(["./call"], cwd=folder, capture_output=True, text=True, check=True)
    us, *outputs = map(float, done.stdout.split())
    return _Called(us, tuple(outputs))


def _libraries(case: _Case, compiler: str, folder: Path, ours: _Called) -> Iterator[Figure]:
    """The same model as machine code."""
    done = stepwell.export(case.path, folder / f"{case.name}.so")
    library = _ours(case, compiler, folder, f"./{done.files[0].name}")
    yield Figure(f"{case.name}.so", f"{library.us:.2f} us, {ours.us / library.us:.2f} x of C", "none")


def _against(case: _Case, compiler: str, folder: Path, ours: _Called, ram: int) -> Iterator[Figure]:
    """onnx2c's C, whose buffers are static."""
    what, bound = f"{case.name}.c against onnx2c", "1.5 x, less RAM"
    if (other := shutil.which("onnx2c")) is None:
        yield skipped(what, "onnx2c is not installed", bound)
        return
    source = subprocess.run([other, case.path], capture_output=True, text=True, check=True).stdout
    (folder / "other.c").write_text(source)
    theirs = _run(case, compiler, folder, "", "other.c", ("", "entry((void *)x, (void *)y)"))
    np.testing.assert_allclose(theirs.outputs, ours.outputs, atol=1e-4)
    subprocess.run([compiler, "-O2", "-c", "other.c", "-o", "other.o"], cwd=folder, check=True)
    static = sum(_sections(shutil.which("size") or "size", folder / "other.o")[1:])
    there = static + _stack(compiler, folder / "other.c")
    ratio = theirs.us / ours.us
    found = f"{ours.us:.2f} against {theirs.us:.2f} us: {ratio:.2f} x; RAM {ram} against {there} bytes"
    yield judged(what, found, bound, ratio >= 1.5 and ram < there)


def _stack(compiler: str, file: Path) -> int:
    """The frames of all functions of a file in bytes: none calls itself."""
    line = [compiler, "-std=c99", "-O2", "-fstack-usage", "-c", file.name, "-o", "frames.o"]
    subprocess.run(line, cwd=file.parent, check=True)
    rows = file.with_name("frames.su").read_text().splitlines()
    return sum(int(row.split("\t")[1]) for row in rows)


def _sections(tool: str, file: Path) -> tuple[int, int, int]:
    """The bytes of code, of data and of zeros in an object."""
    shown = subprocess.run([tool, file], capture_output=True, text=True, check=True)
    text, data, zeros = map(int, shown.stdout.splitlines()[1].split()[:3])
    return text, data, zeros


def _digits(folder: Path) -> _Case:
    """The classifier of digits, for one of them."""
    model = onnx.load(_DIGITS)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, folder / "digits.onnx")
    return _Case("digits", folder / "digits.onnx", 64, 10, 1000)


def _keywords(folder: Path) -> _Case:
    """
    A network that spots keywords: a convolution, four separable ones, and a classifier.

    Source: Zhang et al., Hello Edge: Keyword Spotting on Microcontrollers (2017), DS-CNN of the small size.
    """
    rng, nodes, weights = np.random.default_rng(0), list[onnx.NodeProto](), list[onnx.TensorProto]()

    def layer(op: str, inputs: list[str], *shape: int, **attributes: Any) -> str:
        name = f"t{len(nodes)}"
        if shape:
            scale = np.sqrt(2 / np.prod(shape[1:]))
            array = (rng.standard_normal(shape) * scale).astype(np.float32)
            weights.append(onnx.numpy_helper.from_array(array, f"{name}_w"))
            inputs = [*inputs, f"{name}_w"]
        nodes.append(onnx.helper.make_node(op, inputs, [name], **attributes))
        return name

    first = {"kernel_shape": [10, 4], "strides": [2, 2], "pads": [4, 1, 5, 2]}
    x = layer("Relu", [layer("Conv", ["x"], _CHANNELS, 1, 10, 4, **first)])
    for _ in range(4):
        spatial = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "group": _CHANNELS}
        x = layer("Relu", [layer("Conv", [x], _CHANNELS, 1, 3, 3, **spatial)])
        x = layer("Relu", [layer("Conv", [x], _CHANNELS, _CHANNELS, 1, 1, kernel_shape=[1, 1])])
    pooled = layer("Flatten", [layer("GlobalAveragePool", [x])])
    nodes.append(onnx.helper.make_node("Softmax", [layer("MatMul", [pooled], _CHANNELS, _WORDS)], ["y"]))
    make, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    ends = [make("x", kind, _FEATURES)], [make("y", kind, (1, _WORDS))]
    graph = onnx.helper.make_graph(nodes, "keywords", *ends, weights)
    path = folder / "keywords.onnx"
    opsets = [onnx.helper.make_opsetid("", 13)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return _Case("keywords", path, int(np.prod(_FEATURES)), _WORDS, 20)


def microcontroller(folder: Path) -> Iterator[Figure]:
    """Code and memory of the classifier on a Cortex-M4, weights apart."""
    what, bound = "digits.c on a Cortex-M4", "16 KB, tflite-micro's core without an arena"
    if (compiler := shutil.which("arm-none-eabi-gcc")) is None:
        yield skipped(what, "arm-none-eabi-gcc is not installed", bound)
        return
    done = stepwell.export(_digits(folder).path, folder / "digits.c")
    cpu = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
    line = [compiler, *cpu, "-Os", "-ffreestanding", "-c", "digits.c", "-o", "digits.o"]
    subprocess.run(line, cwd=folder, check=True)
    text, data, zeros = _sections(compiler.replace("gcc", "size"), folder / "digits.o")
    code, ram = text - done.weight_bytes, data + zeros + int(done.workspace) + done.stack_bytes
    found = f"code {code} bytes, RAM {ram} bytes, weights {done.weight_bytes} bytes"
    yield judged(what, found, bound, code + ram < 16 << 10)
