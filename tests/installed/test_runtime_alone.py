"""`stepwell-runtime` in an environment with numpy alone: same bits, small, clear about its limits."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

import stepwell
from stepwell.tools.generators.runtime_wheel import write_sources
from tests.onnx_models import Array, onnx_model

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
MOST_BYTES = 5_000_000
_PIP = ("pip", "-q", "--disable-pip-version-check")
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel."""

    folder: Path

    def run(self, *arguments: object, status: int = 0) -> str:
        """Run Python in it, in an empty folder; returns what it wrote to standard output, or to the other."""
        python = self.folder / "bin" / "python"
        done = _run(python, "-I", *arguments, cwd=self.folder)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr if status else done.stdout

    @property
    def packages(self) -> Path:
        """The folder of installed packages."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found


def _run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as `make runtime-wheel` does."""
    folder = tmp_path_factory.mktemp("wheel")
    write_sources(folder / "sources")
    build = ("wheel", "--no-deps", "-w", folder, folder / "sources")
    built = _run(sys.executable, "-m", *_PIP, *build, cwd=folder)
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("stepwell_runtime-*.whl")
    return found


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A new environment with the wheel and what it depends on."""
    environment = Environment(tmp_path_factory.mktemp("alone").resolve())
    for command in (
        ("venv", "--without-pip", environment.folder),
        (*_PIP, "--python", environment.folder / "bin" / "python", "install", wheel),
    ):
        done = _run(sys.executable, "-m", *command, cwd=environment.folder)
        assert done.returncode == 0, done.stderr
    return environment


def cnn() -> tuple[ModelProto, Mapping[str, Array]]:
    """Convolutions with enough work for the pool of threads; the batch is open."""
    model = onnx_model("""
        g (float[N, 3, 64, 64] x) => (float[N, 64, 32, 32] y) {
            a = Conv<pads=[1, 1, 1, 1]>(x, w, b)
            r = Relu(a)
            y = Conv<pads=[1, 1, 1, 1], strides=[2, 2]>(r, v)
        }
    """)
    shapes = {"w": (32, 3, 3, 3), "b": (32,), "v": (64, 32, 3, 3)}
    arrays = {name: RNG.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return model, {"x": RNG.standard_normal((2, 3, 64, 64), np.float32)}


def host_call() -> tuple[ModelProto, Mapping[str, Array]]:
    """A part of a list, which is an object of the host, between kernels; its size depends on data."""
    model = onnx_model("""
        g (float[40, 8] x, int64[3] lengths, int64 at) => (float[K, 8] y) {
            positive = Sigmoid(x)
            parts = SplitToSequence<axis = 0>(positive, lengths)
            part = SequenceAt(parts, at)
            y = Sqrt(part)
        }
    """)
    x = RNG.standard_normal((40, 8), np.float32)
    return model, {"x": x, "lengths": np.array([7, 21, 12]), "at": np.array(1)}


def other_floats() -> tuple[ModelProto, Mapping[str, Array]]:
    """Functions of f64, which the C library computes, and arithmetic of f16."""
    model = onnx_model("""
        g (double[N, 33] x, float16[N, 64] h) => (double[N, 33] y, float16[N, 64] z, float16[N, 64] s) {
            e = Exp(x)
            two = Constant<value = double {1.7}>()
            p = Pow(e, two)
            t = Tanh(p)
            l = Log(e)
            a = Atan(l)
            i = Sin(a)
            f = Erf(i)
            r = Round(e)
            sum = Add(t, f)
            y = Add(sum, r)
            s = Softmax<axis = 1>(h)
            m = Mul(h, s)
            z = Floor(m)
        }
    """)
    x, h = RNG.standard_normal((5, 33)), RNG.standard_normal((5, 64)).astype(np.float16)
    return model, {"x": x, "h": h}


@pytest.mark.parametrize("mcpu", ["host", "x86-64"])
@pytest.mark.parametrize("make", [cnn, host_call, other_floats])
def test_results_have_the_bits_of_the_whole_installation(
    make: Callable[[], tuple[ModelProto, Mapping[str, Array]]], mcpu: str, alone: Environment, tmp_path: Path
) -> None:
    model, feeds = make()
    compiled = stepwell.compile(model, mcpu=mcpu, threads=2)
    expected = compiled.run(feeds)
    assert all(np.isfinite(array.astype(np.float64)).all() and array.any() for array in expected.values())
    compiled.save(tmp_path / "m.stepwell")
    np.savez(tmp_path / "inputs.npz", **feeds)  # pyright: ignore[reportArgumentType]
    files = [tmp_path / name for name in ("m.stepwell", "inputs.npz", "outputs.npz")]
    facts = json.loads(alone.run(HERE / "run_artifact.py", *files))
    assert facts == {"packages": ["__main__", "numpy", "stepwell"], "workers": 1}
    with np.load(tmp_path / "outputs.npz") as found:
        assert {name: (array.dtype, array.shape, array.tobytes()) for name, array in found.items()} == {
            name: (array.dtype, array.shape, array.tobytes()) for name, array in expected.items()
        }


def test_a_model_with_narrow_floats_names_the_package_that_it_needs(
    alone: Environment, tmp_path: Path
) -> None:
    model = onnx_model("g (bfloat16[N] x) => (bfloat16[N] y) { y = Add(x, x) }")
    stepwell.compile(model).save(tmp_path / "m.stepwell")
    code = f"import stepwell; stepwell.load({str(tmp_path / 'm.stepwell')!r})"
    error = alone.run("-c", code, status=1)
    assert "error[missing-package]: the element type bfloat16 needs ml_dtypes" in error
    assert "pip install ml_dtypes" in error


def test_compiling_says_what_to_install(alone: Environment) -> None:
    error = alone.run("-c", "import stepwell; stepwell.compile('model.onnx')", status=1)
    assert "error[missing-package]: stepwell.compile needs the compiler" in error
    assert "pip install stepwell" in error


def test_it_is_small_beside_numpy(alone: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {
        folder.name: sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        for folder in alone.packages.iterdir()
        if folder.is_dir()
    }
    ours = sum(size for name, size in sizes.items() if name.startswith("stepwell"))
    numpys = sum(size for name, size in sizes.items() if name.startswith("numpy"))
    with capsys.disabled():
        print(f"\nstepwell-runtime: {ours / 1e6:.2f} MB, numpy: {numpys / 1e6:.1f} MB")
    assert ours <= MOST_BYTES
    assert ours + numpys == sum(sizes.values()), sizes
