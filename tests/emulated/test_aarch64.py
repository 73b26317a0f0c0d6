"""Code for aarch64, run: models, loops and every kind of relocation, on an emulated CPU. `make emulated`."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.kernels.pool_code import pool_of
from stepwell.runtime.image import ModelImage
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.elf import read_object
from stepwell.runtime.link.linker import link
from stepwell.runtime.link.relocations import LOADS, PATCHES
from stepwell.runtime.machine import loader
from stepwell.runtime.machine.pool_state import STATE_BYTES, StateField
from stepwell.runtime.machine.target import target_from
from stepwell.runtime.model import CompiledModel
from stepwell.tools.check.reference import reference_evaluator
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from tests.emulated.machine import HOOKS, Array, Machine
from tests.emulated.model import EmulatedModel, Loop
from tests.fuzz.generate import random_program
from tests.fuzz.models import departs, opt_level_of
from tests.onnx_models import onnx_model
from tests.support.components import needs

needs("unicorn")
pytestmark = pytest.mark.slow

ARCHES = {"aarch64": "aarch64", "x86_64": "x86-64-v2"}
"""Levels of features by architecture; x86-64 checks the emulator, which must do what this machine does."""
MODELS: Mapping[str, tuple[str, float]] = {
    "convolutions": (
        """g (float[N, 3, 16, 16] x, float[8, 3, 3, 3] w, float[8] b) => (float[N, 8, 8, 8] y) {
        c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w, b) r = Relu(c)
        y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r) }""",
        1e-5,
    ),
    "softmax": (
        "g (float[N, 64] x, float[64, 48] w) => (float[N, 48] y) { m = MatMul(x, w) y = Softmax(m) }",
        1e-5,
    ),
    "parallel": (
        "g (float[256, 128] x, float[128, 192] w) => (float[256, 192] y) { y = MatMul(x, w) }",
        1e-5,
    ),
    "mathematics": (
        """g (double[N, 7] x) => (double[N, 7] y) { a = Exp(x) b = Log(a) c = Sin(b) d = Cos(c) e = Tanh(d)
        f = Erf(e) p = Pow(a, f) y = Tan(p) }""",
        1e-6,  # the reference's own Erf has f32
    ),
    "integers": ("g (uint8[N, 64] x, int8[64, 32] w) => (int32[N, 32] y) { y = MatMulInteger(x, w) }", 0),
    "halves": (
        "g (float16[N, 64] x, float16[64, 32] w) => (float16[N, 32] y) { m = MatMul(x, w) y = Gelu(m) }",
        2e-2,
    ),
    "half constants": (
        """g (float16[1, 2, 8, 8] x) => (float16[1, 2, 4, 4] y)
        { y = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 0, 0], strides = [2, 2]>(x) }""",
        0,
    ),
    "double constants": ("g (double[N, 9] x) => (double[N, 9] y) { y = LeakyRelu<alpha = 0.1>(x) }", 1e-8),
    "sizes of data": ("g (float[N, 8] x) => (int64[2, M] y) { h = Floor(x) y = NonZero(h) }", 0),
}
ABSENT_IN_MODELS = frozenset({278, 282, 285, 311, 312})
"""
Relocations that the code of these models does not contain: loads of constants of 1 and 4 bytes (LDST8,
LDST32; LLVM makes them in registers), tail calls (JUMP26), and addresses of functions of another object
(ADR_GOT_PAGE, LD64_GOT_LO12_NC).
"""

Recorded = tuple[Mapping[tuple[str, str], ModelImage], frozenset[int]]


def kinds_of(data: bytes) -> set[int]:
    """The kinds of relocations in an object file."""
    return {row.kind for section in read_object(data).sections for row in section.relocations}


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    """The images of all models for both architectures, and the relocations in their objects for aarch64."""
    kinds: set[int] = set()
    with pytest.MonkeyPatch.context() as patch:

        def linked(objects: Any) -> Any:
            if read_object(objects[0]).arch == "aarch64":
                kinds.update(*map(kinds_of, objects))
            return loader.linked(objects)

        patch.setattr("stepwell.tools.driver.image.linked", linked)
        images = {
            (name, arch): build_image(onnx_model(text, opset=20), CompileOptions(mcpu=mcpu))
            for name, (text, _) in MODELS.items()
            for arch, mcpu in ARCHES.items()
        }
    yield images, frozenset(kinds)


def inputs_of(image: ModelImage) -> list[Array]:
    """Random inputs; open dimensions are 3."""
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    for spec in image.main.interface.inputs:
        shape = [dim.value if dim.is_static else 3 for dim in spec.dims]
        numbers = rng.integers(0, 100, shape) if spec.dtype.kind in "iu" else 2 * rng.random(shape)
        arrays.append(numbers.astype(spec.dtype))
    return arrays


def pool_image(arch: str) -> LinkedCode:
    """The code of the thread pool."""
    code = pool_of(target_from(ARCHES[arch], f"{arch}-unknown-linux-gnu"))
    assert isinstance(code, LinkedCode)
    return code


@pytest.mark.parametrize("pool", [None, False, True], ids=["no pool", "serial", "pool"])
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, arch: str, pool: bool | None, recorded: Recorded) -> None:
    """Against ONNX's reference; x86-64 also bit for bit against this machine."""
    image = recorded[0][name, arch]
    loop = None if pool is None else Loop(pool_image(arch), has_pool=pool)
    inputs = inputs_of(image)
    found = EmulatedModel(image, loop)(*inputs)
    text, tolerance = MODELS[name]
    names = [spec.name for spec in image.main.interface.inputs]
    wanted = reference_evaluator(onnx_model(text, opset=20)).run(None, dict(zip(names, inputs, strict=True)))
    for array, result in zip(found, wanted, strict=True):
        expected = np.asarray(result)
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        a, b = array.astype(np.float64), expected.astype(np.float64)
        assert np.abs(a - b).max() <= tolerance * np.abs(b).max()
    if arch == platform.machine():
        native = CompiledModel(image, threads=1)(*inputs)
        np.testing.assert_array_equal(found[0], native)


def test_functions_outside_are_called_through_the_table(recorded: Recorded) -> None:
    image = recorded[0]["mathematics", "aarch64"]
    model = EmulatedModel(image)
    model(*inputs_of(image))
    assert set(model.machine.calls) == set("exp log sin cos tanh erf pow tan".split())
    assert len(model.machine.calls) == 8 * 3 * 7


BACKWARDS = """
declare i32 @sched_yield()
define void @backwards(ptr %ctx, ptr %body, ptr %arg, i64 %chunks) {
entry:
  br label %look
look:
  %left = phi i64 [ %chunks, %entry ], [ %chunk, %run ]
  %any = icmp sgt i64 %left, 0
  br i1 %any, label %run, label %done
run:
  %chunk = sub i64 %left, 1
  %called = call i32 @sched_yield()
  call void %body(ptr %arg, i64 %chunk, i64 %left)
  br label %look
done:
  ret void
}
"""


def assembled(*texts: str) -> list[bytes]:
    """Object files of LLVM IR for aarch64."""
    return [compile_to_object(text, target_from("aarch64"), optimize=False) for text in texts]


def test_parallel_loops_chunk_by_chunk(recorded: Recorded) -> None:
    """Each chunk is a call of its own, the last one first; results stay the same."""
    image = recorded[0]["parallel", "aarch64"]
    inputs = inputs_of(image)
    model = EmulatedModel(image, Loop(link(assembled(BACKWARDS)), "backwards"))
    np.testing.assert_array_equal(model(*inputs)[0], EmulatedModel(image)(*inputs)[0])
    assert model.machine.calls.count("sched_yield") > 3


CHUNKS = """
define void @chunk(ptr %counts, i64 %begin, i64 %end) {
  %place = getelementptr i64, ptr %counts, i64 %begin
  %old = load i64, ptr %place
  %new = add i64 %old, %end
  store i64 %new, ptr %place
  ret void
}
"""


def test_a_worker_of_the_pool_takes_chunks_and_sleeps() -> None:
    """The job is open; when it is done the worker waits for the next, and the system stops it."""
    slept: list[tuple[int, ...]] = []

    def stop(machine: Machine) -> None:
        slept.append(tuple(machine.integer(i) for i in range(4)))
        machine.write_bytes(state + StateField.STOP, b"\x01")
        machine.return_integer(0)

    machine = Machine("aarch64", {**HOOKS, "syscall": stop})
    pool, body = pool_image("aarch64"), link(assembled(CHUNKS))
    counts = machine.store(np.zeros(5, np.int64))
    memory = np.zeros(STATE_BYTES // 8, np.int64)
    opened = (1 << 32) + (1 << 31)
    job = {
        StateField.STATE: opened,
        StateField.BODY: machine.map(body) + body.functions["chunk"][0],
        StateField.ARG: counts,
        StateField.CHUNKS: 5,
        StateField.LIMIT: 1,
        StateField.WORKER_SPINS: 100,
    }
    for field, value in job.items():
        memory[field // 8] = value
    state = machine.store(memory)
    machine.call(machine.map(pool) + pool.functions["stepwell_worker"][0], state)
    np.testing.assert_array_equal(machine.load(counts, np.zeros(5, np.int64)), [1, 2, 3, 4, 5])
    futex, wait_private = 98, 128
    assert slept == [(futex, state + StateField.EPOCH, wait_private, 1)]
    after = machine.load(state, memory)
    assert after[StateField.STATE // 8] == opened and after[StateField.SLEEPERS // 8] == 0


RELOCATIONS = """
@byte = internal constant i8 7
@half = internal constant i16 700
@word = internal constant i32 70000
@long = internal constant i64 7000000000
@wide = internal constant <2 x i64> <i64 5, i64 6>
@table = internal constant [3 x i64] [i64 11, i64 12, i64 13]
declare i64 @plus_four(i64)
declare double @exp(double)
define i64 @byte_() { %x = load volatile i8, ptr @byte  %y = zext i8 %x to i64  ret i64 %y }
define i64 @half_() { %x = load volatile i16, ptr @half  %y = zext i16 %x to i64  ret i64 %y }
define i64 @word_() { %x = load volatile i32, ptr @word  %y = zext i32 %x to i64  ret i64 %y }
define i64 @long_() { %x = load volatile i64, ptr @long  ret i64 %x }
define i64 @wide_() {
  %x = load volatile <2 x i64>, ptr @wide
  %y = extractelement <2 x i64> %x, i64 1
  ret i64 %y
}
define i64 @element(i64 %i) {
  %place = getelementptr [3 x i64], ptr @table, i64 0, i64 %i
  %x = load volatile i64, ptr %place
  ret i64 %x
}
define i64 @call(i64 %x) { %y = call i64 @plus_four(i64 %x)  %z = mul i64 %y, 2  ret i64 %z }
define i64 @jump(i64 %x) { %y = tail call i64 @plus_four(i64 %x)  ret i64 %y }
define ptr @inside() { ret ptr @element }
define ptr @outside() { ret ptr @exp }
"""
PLUS_FOUR = "define i64 @plus_four(i64 %x) {\n%y = add i64 %x, 4\nret i64 %y }"
RESULTS = [
    ("byte_", 0, 7),
    ("half_", 0, 700),
    ("word_", 0, 70000),
    ("long_", 0, 7000000000),
    ("wide_", 0, 6),
    ("element", 2, 13),
    ("call", 5, 18),
    ("jump", 5, 9),
]


def test_every_kind_of_relocation_runs(recorded: Recorded) -> None:
    """In the code of models, and where that has none of a kind, in a program that has."""
    objects = assembled(RELOCATIONS, PLUS_FOUR)
    image = link(objects)
    machine = Machine("aarch64", HOOKS)
    base = machine.map(image)
    for name, argument, wanted in RESULTS:
        assert machine.call(base + image.functions[name][0], argument) == wanted, name
    assert machine.call(base + image.functions["inside"][0]) == base + image.functions["element"][0]
    assert machine.call(base + image.functions["outside"][0]) == machine.outside["exp"]
    known = PATCHES["aarch64"].keys() | LOADS["aarch64"].keys()
    assert recorded[1] == known - ABSENT_IN_MODELS
    assert recorded[1].union(*map(kinds_of, objects)) == known


def test_code_linked_wrongly_is_noticed(recorded: Recorded) -> None:
    """Each address of a page is that of another: a constant is not what it should be."""
    image = recorded[0]["double constants", "aarch64"]
    (variant,) = image.main.variants
    assert isinstance(code := variant.code, LinkedCode)
    words = np.frombuffer(code.contents, np.uint32, code.text_bytes // 4).copy()
    pages = words & 0x9F000000 == 0x90000000
    assert pages.any()
    words[pages] ^= 1 << 29
    wrong = code._replace(contents=words.tobytes() + code.contents[code.text_bytes :])
    entry = image.main._replace(variants=(variant._replace(code=wrong),))
    inputs = [np.negative(array) for array in inputs_of(image)]  # which the constant multiplies
    try:
        found = EmulatedModel(image._replace(functions={"main": entry}))(*inputs)
    except RuntimeError:
        return
    assert not np.array_equal(found[0], EmulatedModel(image)(*inputs)[0])


def test_instructions_of_later_cpus_are_refused() -> None:
    """`ldadd` of Armv8.1, which the baseline lacks."""
    text = "define i64 @add(ptr %p) {\n%x = atomicrmw add ptr %p, i64 1 seq_cst\nret i64 %x }"
    target = target_from("aarch64")
    newer = replace(target, features=(*target.features, "lse"))
    for each, is_refused in ((target, False), (newer, True)):
        image = link([compile_to_object(text, each, optimize=False)])
        machine = Machine("aarch64", HOOKS)
        function = machine.map(image) + image.functions["add"][0]
        place = machine.store(np.array([41]))
        if is_refused:
            with pytest.raises(RuntimeError):
                machine.call(function, place)
        else:
            assert machine.call(function, place) == 41
            assert machine.load(place, np.array([0])).tolist() == [42]


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    """As the fuzzer's for this machine, but those that call the host."""
    program = random_program(seed)
    options = CompileOptions(mcpu="aarch64", opt_level=opt_level_of(seed), processes=1)
    image = build_image(program.model, options)
    if image.main.callees:
        pytest.skip("calls the host")
    model = EmulatedModel(image)
    inputs = [np.asarray(program.inputs[spec.name], order="C") for spec in image.main.interface.inputs]
    assert departs(program.outputs, model(*inputs), len(program.model.graph.node)) is None
