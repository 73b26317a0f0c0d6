"""
The models of tests and benchmarks: their files and inputs.

Some are in the repository (tests/models/*.onnx), the nine light networks are those of the onnx package with
seeded weights, the rest is in the folder that `STEPWELL_MODELS` names; skeletons there get their weights from
the `fill_weights.py` of that folder, once, in a cache folder.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.light import LIGHT_MODELS, write_light_model
from stepwell.runtime.environment import MODELS
from stepwell.runtime.files.cache import default_folder
from stepwell.runtime.interface import Array

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Input:
    """An input to draw: type, shape, and `normal`, `uniform`, `ones` or integers below `high`."""

    dtype: str
    shape: tuple[int, ...]
    kind: str = "normal"
    high: int = 0

    def draw(self, rng: np.random.Generator) -> Array:
        """A random array of the input's type and shape."""
        match self.kind:
            case "normal":
                return rng.standard_normal(self.shape).astype(self.dtype)
            case "uniform":
                return rng.random(self.shape).astype(self.dtype)
            case "ones":
                return np.ones(self.shape, self.dtype)
            case _:
                return rng.integers(0, self.high, self.shape).astype(self.dtype)


@dataclass(frozen=True)
class Model:
    """A model of the zoo."""

    name: str
    inputs: Mapping[str, Input]
    sizes: Sequence[Mapping[str, tuple[int, ...]]] = field(default=())
    """Other input shapes that the same compiled model must accept."""
    fixed: bool = False
    """Whether the open dimensions of the file are fixed when it is compiled."""

    def feeds(self, seed: int = 0, shapes: Mapping[str, tuple[int, ...]] | None = None) -> dict[str, Array]:
        """Inputs, seeded; `shapes` replaces some of them."""
        rng = np.random.default_rng(seed)
        drawn: dict[str, Array] = {}
        for name, spec in self.inputs.items():
            shape = (shapes or {}).get(name, spec.shape)
            drawn[name] = Input(spec.dtype, shape, spec.kind, spec.high).draw(rng)
        return drawn

    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes to compile for; empty when the model keeps its open dimensions."""
        return {name: spec.shape for name, spec in self.inputs.items()} if self.fixed else {}


def _image(size: int = 224) -> Input:
    return Input("float32", (1, 3, size, size))


def _tokens(length: int, vocabulary: int) -> dict[str, Input]:
    return {
        "ids": Input("int64", (1, length), "integers", vocabulary),
        "mask": Input("int64", (1, length), "ones"),
    }


def _batch(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    return {name: shape}


_TEXTS = [{"ids": shape, "mask": shape} for shape in ((2, 23), (3, 80))]
_KV = {f"{kind}{layer}": Input("float32", (1, 8, 64, 64)) for layer in range(6) for kind in "kv"}

F32_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("resnet18", {"x": _image()}, [_batch("x", n, 3, 224, 224) for n in (3, 2)]),
        Model("mobilenet_v2", {"x": _image()}),
        Model("convnext_tiny", {"x": _image()}),
        Model("unet_small", {"x": _image(128)}),
        Model(
            "basic_pitch",
            {"serving_default_input_2:0": Input("float32", (1, 43844, 1))},
            [_batch("serving_default_input_2:0", n, 43844, 1) for n in (4, 3)],
        ),
        Model("ppocr_det", {"x": _image(320)}, fixed=True),
        Model("vit_tiny", {"x": _image()}),
        Model("bert_base_128", _tokens(128, 30000)),
        Model("bert_mini_dyn", _tokens(64, 8000), _TEXTS),
        Model(
            "gpt_kv",
            {"ids": Input("int64", (1, 1), "integers", 8000), **_KV},
            [{name: (1, 8, length, 64) for name in _KV} for length in (37, 1)],
        ),
        Model(
            "magika",
            {"bytes": Input("int32", (1, 2048), "integers", 257)},
            [_batch("bytes", n, 2048) for n in (3, 8)],
        ),
        Model(
            "captcha_crnn",
            {"image": Input("float32", (1, 3, 60, 160), "uniform")},
            [_batch("image", n, 3, 60, 160) for n in (4, 3)],
        ),
        Model(
            "silero_seq",
            {
                "input": Input("float32", (16, 576)),
                "h": Input("float32", (1, 1, 128)),
                "c": Input("float32", (1, 1, 128)),
            },
            [_batch("input", n, 576) for n in (5, 1)],
        ),
        Model("gru_seq", {"x": Input("float32", (1, 64, 64))}, [_batch("x", 1, n, 64) for n in (17, 1)]),
        *(Model(f"light_{name}", {entry: _image(size)}) for name, (entry, size) in LIGHT_MODELS.items()),
    )
}

OPEN_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("ppocr_det", {"x": _image(320)}, [_batch("x", 2, 3, 64, 96), _batch("x", 3, 3, 96, 160)]),
        Model("skl_gbr", {"X": Input("float32", (64, 20))}, [_batch("X", n, 20) for n in (1, 17)]),
        Model("skl_rf", {"X": Input("float32", (64, 20))}, [_batch("X", n, 20) for n in (1, 17)]),
    )
}
"""Models with all dimensions open that their files leave open, which no benchmark runs."""

QUANTIZED_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("resnet18_qdq", {"x": _image()}, [_batch("x", n, 3, 224, 224) for n in (2, 3)]),
        Model("bert_mini_dynq", _tokens(64, 8000), _TEXTS),
        Model(
            "smart_turn",
            {"input_features": Input("float32", (1, 80, 800))},
            [_batch("input_features", n, 80, 800) for n in (2, 3)],
        ),
    )
}
"""Models that compute on bytes: quantized statically (`qdq`) or by the range of each activation (`dynq`)."""


def models_folder() -> Path | None:
    """The folder that `STEPWELL_MODELS` names; None when it is not set."""
    named = MODELS.value()
    return Path(named).resolve() if named else None


@cache
def model_path(name: str) -> Path | None:
    """The file of a model with its weights; None when the model is not available."""
    carried = REPOSITORY / "tests" / "models" / f"{name}.onnx"
    if carried.exists():
        return carried
    if name.startswith("light_"):
        return _made(name, lambda path: write_light_model(name.removeprefix("light_"), path))
    folder = models_folder()
    if folder is None:
        return None
    if (folder / f"{name}.onnx").exists():
        return folder / f"{name}.onnx"
    if (folder / "skeletons" / f"{name}.onnx").exists():
        filler = folder / "fill_weights.py"
        return _made(name, lambda path: _fill(filler, path))
    return None


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """
    The cached file of a generated model, made in a temporary folder, since two processes may make it at once.
    """
    path = default_folder() / "models" / name / f"{name}.onnx"
    if not path.exists():
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent.parent) as folder:
            fresh = Path(folder) / name
            fresh.mkdir()
            make(fresh / path.name)
            try:
                fresh.rename(path.parent)
            except OSError:
                if not path.exists():
                    raise
    return path


def _fill(filler: Path, path: Path) -> None:
    subprocess.run(
        [sys.executable, str(filler), str(path.parent), path.stem], check=True, stdout=subprocess.DEVNULL
    )
