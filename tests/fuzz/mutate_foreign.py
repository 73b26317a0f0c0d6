"""Cases: model files of other frameworks with bytes changed or cut: an error or a module, in bounds."""

from __future__ import annotations

import random
import resource
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.formats import read_model
from stepwell.frontend.safetensors import stored_tensors
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from tests.fuzz.mutate import BYTES, bounded, feeds_of
from tests.unit.frontend.damaged import mutated

_SAMPLES = Path(__file__).parents[1] / "models"
_MOST_BYTES = 4 << 30
"""The memory that a case may ask for: four times of what it may take, so that the machine survives."""
_COMPILED = 8
"""One file in so many is compiled and run, too."""


class Samples(NamedTuple):
    """The sample files of a kind of model."""

    dialect: str
    names: Sequence[str]
    """The models, below the folder of samples or in an archive there (`programs.zip/counter.tflite`)."""
    damaged: Sequence[str] = ("",)
    """The files of which one is changed: in a package, or in place of a suffix; the model itself is empty."""


SAMPLES: Mapping[str, Samples] = {
    "tflite": Samples(
        "tflite",
        [f"tflite/{name}.tflite" for name in ("classifier", "quantized")]
        + [f"tflite/programs.zip/{name}.tflite" for name in ("counter", "nested")],
    ),
    "pt2": Samples("torch", [f"torch/{name}.pt2" for name in ("mlp", "cnn", "cache", "types")]),
    "stablehlo": Samples(
        "stablehlo", [f"stablehlo/{name}.stablehlo" for name in ("network", "recurrent", "choices")]
    ),
    "mxnet": Samples(
        "mxnet",
        [f"mxnet/{name}-symbol.json" for name in ("mobile", "residual", "transformer")],
        ("", "-0000.params"),
    ),
    "paddle": Samples(
        "paddle",
        [f"paddle/{name}.json" for name in ("mobile", "residual", "transformer")],
        ("", ".pdiparams"),
    ),
    "coreml": Samples(
        "coreml",
        [f"coreml/{name}.mlpackage" for name in ("mobile", "residual", "transformer")],
        ("Manifest.json", "Data/com.apple.CoreML/model.mlmodel"),
    ),
}


def check_foreign(kind: str, seed: int) -> tuple[str, str]:
    """Status and reason of a damaged file of a kind."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, hard))
    with TemporaryDirectory() as folder:
        path = damaged(kind, seed, Path(folder))
        status, reason = bounded(_use(kind, seed, path))
    # Text of StableHLO that is not generic is parsed by jaxlib in a process of its own.
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return ("wrong", f"a child took {child >> 20} MiB; {reason}") if child > BYTES else (status, reason)


def damaged(kind: str, seed: int, folder: Path) -> Path:
    """Write a sample into a folder and damage one of its files; returns the path of the model."""
    rng = random.Random(seed)
    if kind == "safetensors":
        path = folder / "m.safetensors"
        path.write_bytes(mutated(_weights(), rng))
        return path
    samples = SAMPLES[kind]
    path = _copied(_SAMPLES / rng.choice(samples.names), folder)
    file = rng.choice(samples.damaged)
    target = path / file if path.is_dir() else path.parent / (_stem(path) + file) if file else path
    target.write_bytes(mutated(target.read_bytes(), rng))
    return path


def _copied(source: Path, folder: Path) -> Path:
    """A sample, with the files beside it, in a folder."""
    if source.parent.suffix == ".zip":
        with zipfile.ZipFile(source.parent) as archive:
            return Path(archive.extract(source.name, folder))
    if source.is_dir():
        return Path(shutil.copytree(source, folder / source.name))
    for each in source.parent.glob(f"{_stem(source)}[-.]*"):
        if each.suffix != ".npz":
            shutil.copy(each, folder)
    return folder / source.name


def _stem(path: Path) -> str:
    return path.name.removesuffix("-symbol.json").partition(".")[0]


def _weights() -> bytes:
    """A file of safetensors with two tensors."""
    header = (
        b'{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},'
        b'"b":{"dtype":"BF16","shape":[12],"data_offsets":[24,48]}}'
    )
    return len(header).to_bytes(8, "little") + header + np.arange(12, dtype=np.float32).tobytes()


def _use(kind: str, seed: int, path: Path) -> Callable[[], object]:
    """Read a file; one in some is compiled and run as well."""
    if kind == "safetensors":
        return lambda: _tensors(path)
    if seed % _COMPILED == _COMPILED - 1:
        return lambda: _run(path)
    return lambda: _read(path, SAMPLES[kind].dialect)


def _tensors(path: Path) -> None:
    stored_tensors(path)


def _read(path: Path, dialect: str) -> None:
    context = StepwellContext()
    run_pipeline(read_model(path, context), FROM_MODELS[dialect], context)


def _run(path: Path) -> None:
    model = stepwell.compile(path, use_cache=False, processes=1, threads=2)
    if (feeds := feeds_of(model)) is not None:
        model.run(feeds)
