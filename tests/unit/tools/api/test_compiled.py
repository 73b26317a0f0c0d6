"""Compiled models: described, run, measured, and their kernels compiled again."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import stepwell as sw
from stepwell.tools.measure.calibrate import MachineLimits
from tests.onnx_models import onnx_model
from tests.unit.tools.api.programs import SMALL, TEXT, X, Y, small_file

PRODUCT = (
    "g (float[N, 64] x, float[64, 64] w) => (float[N, 64] y, float[N, 64] z) { y = MatMul(x, w) z = Tanh(x) }"
)
LIMITS = MachineLimits({1: 100.0, 2: 200.0}, {1: 10.0, 2: 20.0}, {1: 40.0, 2: 80.0})


@pytest.fixture(scope="module")
def model() -> sw.CompiledModel:
    return sw.compile(onnx_model(PRODUCT), target="x86-64-v3", threads=1)


FEEDS = {"x": np.ones((2, 64), np.float32), "w": np.eye(64, dtype=np.float32)}


def test_a_model_describes_itself(model: sw.CompiledModel) -> None:
    assert [(v.name, v.shape, v.dtype) for v in model.inputs] == [
        ("x", ("N", 64), np.float32),
        ("w", (64, 64), np.float32),
    ]
    assert [str(v) for v in model.outputs] == ["y: float32[N, 64]", "z: float32[N, 64]"]
    assert str(model.target).startswith("x86-64-v3 (") and "fma" in model.target.features
    text = model.summary()
    assert "  x: float32[N, 64]" in text and f"target: {model.target}" in text and "kernels: 2" in text


def test_outputs_come_by_name_or_in_order(model: sw.CompiledModel) -> None:
    by_name = model.run(FEEDS)
    assert list(by_name) == ["y", "z"]
    for wanted, names in ((None, "yz"), ([], "yz"), (["z"], "z"), (("z", "y"), "zy")):
        found = model.run(wanted, FEEDS)
        assert isinstance(found, list)
        for array, name in zip(found, names, strict=True):
            np.testing.assert_array_equal(array, by_name[name])


def test_outputs_are_written_into_arrays_of_the_caller(model: sw.CompiledModel) -> None:
    wanted = model.run(FEEDS)
    y, z = np.full((2, 64), 7, np.float32), np.zeros((2, 64), np.float32)
    found = model.run(FEEDS, outputs={"y": y})
    assert found["y"] is y and found["z"] is not z
    found = model.run(["z", "y"], FEEDS, outputs={"y": y, "z": z})
    assert found[0] is z and found[1] is y
    for array, name in ((y, "y"), (z, "z")):
        np.testing.assert_array_equal(array, wanted[name])


def test_inputs_are_checked_before_outputs_are_written(model: sw.CompiledModel) -> None:
    buffer = np.zeros((2, 64), np.float32)
    name = next(iter(FEEDS))
    for wrong in ([[1.0], [1.0, 2.0]], "text", FEEDS[name].astype(np.float64)):
        with pytest.raises(sw.StepwellError) as caught:
            model.run({**FEEDS, name: wrong}, outputs={"y": buffer})
        assert caught.value.code == "type-mismatch" and not buffer.any()
    wanted = model.run(FEEDS)["y"]
    found = model.run({**FEEDS, name: FEEDS[name].tolist()}, outputs={"y": buffer})["y"]
    assert found is buffer and np.array_equal(buffer, wanted)


BUFFER = np.zeros((4, 64), np.float32)


@pytest.mark.parametrize(
    ("outputs", "code", "text"),
    [
        ({"q": BUFFER}, "bad-option", "no output 'q' that is an array\n  = help: the outputs are y, z"),
        ({"y": [1.0]}, "type-mismatch", "'y' must be a numpy array, found list"),
        ({"y": BUFFER[:2].astype(np.float64)}, "type-mismatch", "'y' is float32, and its memory float64"),
        ({"y": BUFFER[::2]}, "bad-inputs", "'y' must be contiguous, and writable"),
        ({"y": np.broadcast_to(BUFFER[:1], (2, 64))}, "bad-inputs", "'y' must be contiguous, and writable"),
        ({"y": BUFFER[:3]}, "shape-mismatch", "'y' has the shape [2, 64], and its memory [3, 64]"),
        ({"z": FEEDS["x"]}, "bad-inputs", "'z' is that of an input"),
        ({"y": BUFFER[:2], "z": BUFFER[1:3]}, "bad-inputs", "'y' and 'z' have the same memory"),
    ],
)
def test_memory_that_outputs_cannot_have(
    model: sw.CompiledModel, outputs: dict[str, np.ndarray], code: str, text: str
) -> None:
    before = FEEDS["x"].copy()
    with pytest.raises(sw.StepwellError) as failed:
        model.run(FEEDS, outputs=outputs)
    assert failed.value.code == code and text in str(failed.value)
    np.testing.assert_array_equal(FEEDS["x"], before)


def test_outputs_whose_size_depends_on_data_are_copied() -> None:
    model = sw.compile(onnx_model("g (float[N] x) => (int64[1, M] y) { y = NonZero(x) }"))
    y, x = np.zeros((1, 2), np.int64), np.array([0, 3, 0, 5], np.float32)
    assert model.run({"x": x}, outputs={"y": y})["y"] is y and y.tolist() == [[1, 3]]
    with pytest.raises(sw.StepwellError, match=r"'y' has the shape \[1, 1\]"):
        model.run({"x": x[:2]}, outputs={"y": y})


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((FEEDS, None), "type-mismatch", "outputs come first: run(None, {...})"),
        ((FEEDS["x"],), "type-mismatch", "found ndarray"),
        ((), "type-mismatch", "found nothing"),
        ((None, FEEDS, None), "type-mismatch", "found NoneType and dict and NoneType"),
        (("y", FEEDS), "type-mismatch", "a list of names or None, found 'y'"),
        ((["q"], FEEDS), "bad-option", "no output 'q'\n  = help: the outputs are y, z"),
        ((None, {"x": FEEDS["x"]}), "missing-input", "input 'w' is missing"),
    ],
)
def test_what_run_does_not_take(
    model: sw.CompiledModel, arguments: tuple[object, ...], code: str, text: str
) -> None:
    with pytest.raises(sw.StepwellError, match=code) as failed:
        model.run(*arguments)  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert text in str(failed.value)


def test_calls_are_timed(model: sw.CompiledModel) -> None:
    times = model.benchmark(FEEDS, runs=5)
    assert len(times.seconds) == 5 and 0 < times.min <= times.median <= times.max
    assert str(times).startswith("5 runs, 1 threads: ")
    assert len(model.benchmark(FEEDS["x"], w=FEEDS["w"]).seconds) >= 10
    with pytest.raises(sw.StepwellError, match="runs must be a number from 1 on, found 0"):
        model.benchmark(FEEDS, runs=0)


def test_a_call_is_profiled(model: sw.CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.tools.measure.calibrate._measure", lambda: LIMITS)
    rows = model.profile(FEEDS["x"], FEEDS["w"], runs=3)
    assert [(row.kind, row.name) for row in rows] == [("kernel", "k0"), ("kernel", "k1"), ("outside", "")]
    assert len(rows) == 3 and sum(row.share for row in rows) == pytest.approx(100, abs=0.1)
    assert "kernel k0" in str(rows) and "1 threads" in str(rows)
    assert list(model.kernels) == [row.name for row in rows if row.kind == "kernel"]


def test_kernels_are_compiled_again(model: sw.CompiledModel) -> None:
    kernel = next(k for k in model.kernels.values() if "#sched.schedule" in k.schedule and "6" in k.schedule)
    assert kernel.nodes and str(kernel.name) in repr(kernel)
    assert "linalg.generic" in kernel.ir("linalg")
    assert "vector.fma" in kernel.ir() == kernel.ir("vector")
    assert "memref" in kernel.ir("loops") and "llvm.func" in kernel.ir("llvm")
    assert "define i32" in kernel.ir("ll")
    assert "vfmadd" in kernel.asm == kernel.ir("asm")
    assert sw.parse(kernel.ir("vector")).level == "vector"


def test_kernels_that_do_not_exist(model: sw.CompiledModel) -> None:
    with pytest.raises(sw.StepwellError, match="no kernel is named 'k7'\n  = help: .*the kernels are k0, k1"):
        model.kernels["k7"]
    with pytest.raises(sw.StepwellError, match="no level 'vectors'\n  = help: did you mean vector?"):
        model.kernels["k0"].ir("vectors")  # pyright: ignore[reportArgumentType]


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", ["vector", "loops", "llvm"])
def test_kernels_of_a_program_that_is_lowered(level: str) -> None:
    f = sw.parse(str(sw.import_onnx(onnx_model(PRODUCT)).to(level, target="x86-64-v3"))).compile(threads=2)
    kernel = f.kernels["k0"]
    assert kernel.nodes == () and kernel.schedule == ""
    assert "vfmadd" in kernel.asm  # with the loop bodies that it calls
    with pytest.raises(sw.StepwellError, match=f"on level {level} already: nothing leads back up to linalg"):
        kernel.ir("linalg")
    if level != "vector":
        with pytest.raises(sw.StepwellError, match="no-profile"):
            f.profile(FEEDS)


def test_a_model_goes_on_with_the_program_that_it_was_compiled_from() -> None:
    m = sw.parse(TEXT)
    f = m.compile(threads=1)
    m.run("fuse-ops{max-ops=1}")
    assert list(f.kernels) == ["k0"] and list(m.compile(threads=1).kernels) == ["k0", "k1"]


def test_kernels_are_those_of_the_pass_context() -> None:
    with sw.PassContext(config={"fuse-ops.max-ops": 1}):
        f = sw.compile(sw.parse(TEXT), threads=1)
    assert list(f.kernels) == ["k0", "k1"]


@pytest.mark.parametrize("use", [lambda f: f.kernels, lambda f: f.profile(X)], ids=["kernels", "profile"])
def test_artifacts_have_no_source(use: Callable[[sw.CompiledModel], object], tmp_path: Path) -> None:
    f = sw.compile(onnx_model(SMALL))
    f.save(tmp_path / "m.stepwell")
    for loaded in (sw.load(tmp_path / "m.stepwell"), pickle.loads(pickle.dumps(f))):
        np.testing.assert_array_equal(loaded(X), Y)
        assert loaded.inputs == f.inputs and loaded.summary().startswith("inputs:")
        assert loaded.benchmark(X, runs=1).seconds
        with pytest.raises(sw.StepwellError, match="no-source"):
            use(loaded)


def test_a_file_that_changed_has_no_kernels(tmp_path: Path) -> None:
    path = small_file(tmp_path)
    f, other = sw.compile(path, threads=1), sw.compile(path, threads=1)
    assert list(other.kernels) == ["k0"]
    onnx.save(onnx_model("g (float[N] x) => (float[N] y) { y = Neg(x) }"), path)
    with pytest.raises(sw.StepwellError, match="file-changed"):
        print(f.kernels)
    np.testing.assert_array_equal(f(X), Y)
    path.unlink()
    with pytest.raises(sw.StepwellError, match="no-file"):
        print(f.kernels)
