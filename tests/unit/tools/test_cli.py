"""The commands on a small network, and what a compiled model promises: threads, files, light imports."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, numpy_helper

import stepwell
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.model import CompiledModel
from stepwell.tools import cli, opt
from stepwell.tools.driver.emit import LEVELS
from tests.commands import Capture, shown_error, written
from tests.onnx_models import onnx_model
from tests.support.samples import whole

F32 = npt.NDArray[np.float32]
FEATURES = 64


def network() -> ModelProto:
    """Two layers, a softmax, any number of rows."""
    model = onnx_model(
        f"g (float[N, {FEATURES}] x) => (float[N, 10] y) {{"
        " a = MatMul(x, w1) b = Add(a, b1) h = Relu(b) c = MatMul(h, w2) y = Softmax(c) }"
    )
    rng = np.random.default_rng(7)
    shapes = {"w1": (FEATURES, 96), "b1": (96,), "w2": (96, 10)}
    for name, shape in shapes.items():
        weight = rng.standard_normal(shape, np.float32) / 8
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    return model


def expected(x: F32) -> F32:
    """What the network computes, by numpy in f64."""
    w1, b1, w2 = (numpy_helper.to_array(w).astype(np.float64) for w in network().graph.initializer)
    scores = np.maximum(x @ w1 + b1, 0) @ w2
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return (powers / powers.sum(1, keepdims=True)).astype(np.float32)


def rows(count: int, seed: int = 0) -> F32:
    """An input."""
    return np.random.default_rng(seed).standard_normal((count, FEATURES), np.float32)


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    """The network, compiled."""
    return stepwell.compile(network(), threads=2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The network as a file."""
    return written(tmp_path / "mlp.onnx", network())


def stepwell_prints(capsys: Capture, *argv: str | Path) -> str:
    """Run a command that succeeds; returns what it writes."""
    assert cli.main([str(argument) for argument in argv]) == 0
    streams = capsys.readouterr()
    return streams.out + streams.err


def test_compile_then_run(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """An artifact gives the results of the model, which are right."""
    artifact, results, inputs = (tmp_path / name for name in ("m.stepwell", "y.npz", "x.npz"))
    x = rows(5)
    np.savez(inputs, x=x)
    summary = stepwell_prints(capsys, "compile", file, "-o", artifact)
    assert "5 nodes -> " in summary
    assert "weights" in summary and f"wrote {artifact}" in summary
    for source in (artifact, file):
        printed = stepwell_prints(capsys, "run", source, "--inputs", inputs, "--outputs", results)
        assert "y: float32[5, 10]" in printed
        with np.load(results) as written_results:
            np.testing.assert_allclose(written_results["y"], expected(x), rtol=1e-4, atol=1e-6)


def test_run_on_made_up_inputs(file: Path, capsys: Capture) -> None:
    """Checked against the reference, timed, of a chosen shape; the same seed gives the same."""
    printed = stepwell_prints(
        capsys, "run", file, "--check", "--repeat", "3", "--threads", "1", "--input-shape", "x=4x64"
    )
    assert "y: float32[4, 10]" in printed and "y: ok, largest difference" in printed
    assert "3 runs, 1 threads" in printed
    printed = [stepwell_prints(capsys, "run", file, "--fill", "random", "--seed", s) for s in ("1", "1", "2")]
    assert printed[0] == printed[1] != printed[2]


def test_inspect(file: Path, model: CompiledModel, tmp_path: Path, capsys: Capture) -> None:
    """Inputs, outputs, operators and sizes, of models and of artifacts."""
    printed = stepwell_prints(capsys, "inspect", file)
    for line in ("x: float32[N, 64]", "y: float32[N, 10]", "parameters: 7,200 in 3 tensors"):
        assert line in printed
    assert [line.split() for line in printed.splitlines() if "MatMul" in line] == [["2", "MatMul", "native"]]
    assert "Constant" not in printed  # weights are parameters, whatever the level that they stand on
    (ir := tmp_path / "m.mlir").write_text(stepwell_prints(capsys, "compile", file, "--emit", "graph"))
    rows = [line.split() for line in stepwell_prints(capsys, "inspect", ir).splitlines()]
    assert ["2", "graph.matmul"] in rows
    model.save(artifact := tmp_path / "m.stepwell")
    printed = stepwell_prints(capsys, "inspect", artifact)
    for line in ("x: float32[N, 64]", "target: ", "code: ", "weights: 7,200 numbers"):
        assert line in printed


EMITTED = {
    "onnx": "onnx.MatMul",
    "graph": "graph.fused",
    "linalg": "linalg.",
    "vector": "vector.",
    "loops": "memref<",
    "llvm": "llvm.func @main",
    "ll": "define i32 @main",
    "asm": "main:",
}


def test_emit_every_level(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """`--emit` prints a level or writes it to a file."""
    assert set(EMITTED) == set(LEVELS)
    for level, words in EMITTED.items():
        assert words in stepwell_prints(capsys, "compile", file, "--emit", level)
    text = stepwell_prints(capsys, "compile", file, "--emit", "asm")
    stepwell_prints(capsys, "compile", file, "--emit", "asm", "-o", tmp_path / "level")
    assert (tmp_path / "level").read_text().strip() == text.strip()


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", ["onnx", "loops"])
def test_what_is_emitted_runs(level: str, file: Path, tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "emitted" / "F.mlir"
    text.parent.mkdir()
    assert cli.main(["compile", str(file), "--emit", level, "-o", str(text)]) == 0
    assert text.with_suffix(".weights").exists()
    inputs = tmp_path / "in.npz"
    np.savez(inputs, x=rows(2))
    command = ["run", str(text), "--inputs", str(inputs), "--outputs", str(tmp_path / "out.npz")]
    assert cli.main(command) == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npz")["y"], expected(rows(2)), rtol=1e-4, atol=1e-6)
    text.with_suffix(".weights").unlink()
    capsys.readouterr()
    assert "error[missing-weights]" in shown_error(capsys, cli.main, "run", text)


@whole
def test_what_is_dumped_runs(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    output = str(tmp_path / "out.stepwell")
    assert cli.main(["compile", str(file), "--dump", str(folder), "-o", output]) == 0
    inputs = tmp_path / "in.npz"
    np.savez(inputs, x=rows(2))
    fused = next(folder.glob("*-fuse-ops.mlir"))
    assert cli.main(["run", str(fused), "--inputs", str(inputs)]) == 0


def test_a_dash_is_standard_output(
    file: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compile", str(file), "--emit", "onnx", "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert "onnx.MatMul" in text
    assert opt.main([str(written(tmp_path / "a.mlir", "func.func private @f()")), "-o", "-"]) == 0
    assert "@f()" in capsys.readouterr().out
    assert "an artifact is bytes" in shown_error(capsys, cli.main, "compile", file, "-o", "-")
    assert "obj writes bytes" in shown_error(capsys, cli.main, "compile", file, "--emit", "obj", "-o", "-")
    assert not (tmp_path / "-").exists()


def test_the_package_is_a_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert subprocess.run([sys.executable, "-m", "stepwell", "--version"], check=False).returncode == 0
    assert capfd.readouterr().out.startswith("stepwell ")


def test_emit_an_object_file(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """For this machine, and for another."""
    for options in ([], ["--mcpu", "aarch64"]):
        stepwell_prints(capsys, "compile", file, "--emit", "obj", "-o", tmp_path / "m.o", *options)
        assert (tmp_path / "m.o").read_bytes().startswith(b"\x7fELF")


def test_compile_says_what_it_plans(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """The passes of all levels, and where each buffer lies."""
    printed = stepwell_prints(capsys, "compile", file, "--print-pipeline")
    assert all(f"\n{name}" in printed for name in ("convert-onnx-to-graph", "fuse-ops", "vectorize"))
    assert not (tmp_path / "mlp.stepwell").exists()


@pytest.mark.sample(9)
@pytest.mark.parametrize(
    "options", [["-o", "m.stepwell"], ["-o", "m.stepwell", "--dump", "all"], ["--emit", "loops"]]
)
def test_the_printed_memory_plan_is_that_of_the_compilation(
    options: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, with the kernels' scratch, and also when everything was compiled before."""
    monkeypatch.chdir(tmp_path)
    padded = onnx_model(
        "g (float[N, 16, 10, 10] x, float[32, 16, 3, 3] w) => (float[N, 32, 10, 10] y) {"
        " c = Conv<pads = [1, 1, 1, 1]>(x, w) y = Relu(c) }"
    )
    Path("conv.onnx").write_bytes(padded.SerializeToString())
    arena = stepwell.compile("conv.onnx").interface.arena_bytes
    assert cli.main(["compile", "conv.onnx", *options, "--print-memory-plan"]) == 0
    printed = capsys.readouterr().err
    assert printed.count("without sharing") == 1 and f"\narena: {arena} bytes of" in printed


def test_no_memory_is_planned_above_loops(file: Path, capsys: Capture) -> None:
    command = ("compile", file, "--emit", "vector", "--print-memory-plan")
    assert "before plan-memory" in shown_error(capsys, cli.main, *command)


def test_cache(file: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled once is found again; `--no-cache` looks at nothing."""
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    command = ("compile", file, "-o", tmp_path / "m.stepwell")
    assert "(0 from the cache)" in stepwell_prints(capsys, *command)
    assert "(0 from the cache)" not in stepwell_prints(capsys, *command)
    assert "(0 from the cache)" in stepwell_prints(capsys, *command, "--no-cache")
    entries = KernelCache().info().entries
    assert f"kernels: {entries}," in (shown := stepwell_prints(capsys, "cache", "info")) and entries > 1
    assert "models: 1," in shown
    assert f"removed {entries} kernels" in stepwell_prints(capsys, "cache", "clear")
    assert "kernels: 0," in stepwell_prints(capsys, "cache", "info")


def test_help_and_version(capsys: Capture) -> None:
    """No command: help, and the status for wrong usage."""
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"stepwell {stepwell.__version__}\n"
    assert cli.main([]) == 2
    printed = capsys.readouterr().out
    assert all(command in printed for command in cli.COMMANDS)
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as stop:
            cli.main([command, "--help"])
        assert stop.value.code == 0


# What a compiled model promises


def test_calls_from_several_threads(model: CompiledModel) -> None:
    """One model, four threads, shapes of their own."""
    inputs = [rows(1 + seed % 5, seed) for seed in range(4)]

    def call(x: F32) -> list[F32]:
        return [cast(F32, model(x)) for _ in range(200)]

    with ThreadPoolExecutor(4) as pool:
        for x, results in zip(inputs, pool.map(call, inputs), strict=True):
            for result in results:
                np.testing.assert_array_equal(result, results[0])
            np.testing.assert_allclose(results[0], expected(x), rtol=1e-4, atol=1e-6)


def test_results_do_not_depend_on_the_number_of_threads(model: CompiledModel) -> None:
    """Bit by bit, with rows enough that threads share the work."""
    x = rows(1000)
    results = [CompiledModel(model.image, threads=threads)(x) for threads in (1, 2, 3)]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize(
    ("graph", "shape"),
    [
        ("g (float[N, 4] x) => (float[N, 4] y) { y = Identity(x) }", (3, 4)),
        ("g (float[N, 4] x) => (float[M] y) <int64[1] s = {-1}> { y = Reshape(x, s) }", (12,)),
        ("g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) { y = Identity(x) z = Identity(x) }", (3, 4)),
    ],
)
def test_models_without_a_kernel(graph: str, shape: tuple[int, ...]) -> None:
    """Inputs of any size that are only copied and viewed."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    results = stepwell.compile(onnx_model(graph))(x)
    for result in results if isinstance(results, tuple) else (results,):
        np.testing.assert_array_equal(result, x.reshape(shape))


def test_an_artifact_is_the_model(model: CompiledModel, tmp_path: Path) -> None:
    """Saved and loaded, it gives the same bits; saved again, the same file."""
    model.save(first := tmp_path / "first.stepwell")
    loaded = stepwell.load(first)
    x = rows(33)
    np.testing.assert_array_equal(loaded(x), model(x))
    loaded.save(second := tmp_path / "second.stepwell")
    assert first.read_bytes() == second.read_bytes()
    loaded.save(first)  # over the file that its weights are mapped from
    np.testing.assert_array_equal(loaded(x), model(x))


def _modules_after(script: str, *argv: Path) -> set[str]:
    """Run Python; returns the names of the packages that it has imported."""
    script += "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", script, *map(str, argv)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_import_is_light() -> None:
    """`import stepwell` costs nothing that is not used."""
    assert not _modules_after("import stepwell") & {"numpy", "onnx", "xdsl", "llvmlite", "ml_dtypes", "rich"}


def test_servers_start_without_the_compiler() -> None:
    """Their commands' arguments, and what listens: a client may come at once."""
    script = """
from stepwell.tools.cli import command_lines
command_lines(("serve", "rpc"))
import stepwell.tools.serving.listen, stepwell.runtime.serve.application"""
    assert not _modules_after(script) & {"xdsl", "onnx", "llvmlite", "rich"}


RUN_ARTIFACT = """
import sys
import numpy as np
import stepwell
model = stepwell.load(sys.argv[1])
y = model(np.load(sys.argv[2]))
np.save(sys.argv[3], y)
"""


def test_an_artifact_runs_without_the_compiler(model: CompiledModel, tmp_path: Path) -> None:
    """In a new process, which imports neither xDSL nor onnx; the results are the same bits."""
    x = rows(3)
    artifact, given, result = (tmp_path / name for name in ("m.stepwell", "x.npy", "y.npy"))
    model.save(artifact)
    np.save(given, x)
    modules = _modules_after(RUN_ARTIFACT, artifact, given, result)
    assert "numpy" in modules and not modules & {"xdsl", "onnx", "google", "rich"}
    np.testing.assert_array_equal(np.load(result), model(x))


def test_compile_for_a_backend(file: Path, tmp_path: Path, capsys: Capture) -> None:
    """`--backend` splits a model; the IR with its partitions compiles as well."""
    artifact, ir = tmp_path / "m.stepwell", tmp_path / "m.mlir"
    stepwell_prints(capsys, "compile", file, "--backend", "reference", "-o", artifact)
    stepwell_prints(capsys, "run", artifact, "--fill", "ones")
    printed = stepwell_prints(capsys, "inspect", artifact)
    assert "partition reference_0: " in printed and " for reference" in printed
    ir.write_text(stepwell_prints(capsys, "compile", file, "--backend", "reference", "--emit", "graph"))
    assert "graph.external @reference_0" in ir.read_text()
    printed = stepwell_prints(
        capsys, "compile", file, "--backend", "reference,onnxruntime", "--print-pipeline"
    )
    assert "annotate-target{backends=reference,onnxruntime},merge-regions" in printed
    error = shown_error(capsys, cli.main, "compile", file, "--backend", "referenc")
    assert "no backend is named 'referenc'" in error and "did you mean reference?" in error
