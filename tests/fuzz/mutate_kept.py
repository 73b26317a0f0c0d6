"""Cases: what Stepwell writes, changed: IR as text, files of weights; and data beside a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx.external_data_helper import convert_model_to_external_data

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.passes import run_pipeline
from stepwell.passes.instruments import module_text
from stepwell.tools.driver.ir_files import weights_beside, write_ir
from tests.fuzz.generate import random_program
from tests.fuzz.mutate import bounded, change_bytes, feeds_of

_LEVELS = ("", "convert-onnx-to-graph", "convert-onnx-to-graph,fuse-ops,convert-graph-to-linalg")
_TOKEN = re.compile(r'"[^"\n]*"|[%@^#!]?[\w.$-]+|\S')


def check_kept(kind: str, seed: int) -> tuple[str, str]:
    """Status and reason of one case of a kind: an error that has a name, or a result, in bounds."""
    with TemporaryDirectory() as folder:
        use = _KINDS[kind](seed, Path(folder), np.random.default_rng(seed))
        return bounded(use)


def _text(seed: int, folder: Path, rng: np.random.Generator) -> Callable[[], object]:
    """IR of a small model at one of the levels that must not harm, one to three tokens changed."""
    path = folder / "m.mlir"
    ctx = StepwellContext()
    module = import_onnx(_small_model(rng), ctx)
    run_pipeline(module, _LEVELS[seed % 3], ctx)
    write_ir(path, module_text(module), ctx)
    path.write_text(_change_text(path.read_text(), rng))
    return lambda: _run(stepwell.compile(path, use_cache=False, processes=1, threads=2))


def _weights(seed: int, folder: Path, rng: np.random.Generator) -> Callable[[], object]:
    """The file of weights beside IR, bytes changed or cut."""
    path = folder / "m.mlir"
    ctx = StepwellContext()
    module = import_onnx(Path(__file__).parents[1] / "models" / "gru_seq.onnx", ctx)
    write_ir(path, module_text(module), ctx)
    beside = weights_beside(path)
    data = beside.read_bytes()
    length = int.from_bytes(data[8:16], "little")
    # The header alone, most times: the numbers behind it say nothing that could be wrong.
    changed = change_bytes(data[: 16 + length], rng) + data[16 + length :]
    beside.write_bytes(changed if seed % 4 else changed[: int(rng.integers(len(changed)))])
    again = StepwellContext()
    return lambda: again.weights.load(beside)


def _external(seed: int, folder: Path, rng: np.random.Generator) -> Callable[[], object]:
    """A model with its weights in another file: that file cut, or what the model says of it changed."""
    path = folder / "m.onnx"
    model = _small_model(rng)
    convert_model_to_external_data(model, location="w.bin", size_threshold=0)
    onnx.save(model, path)  # pyright: ignore[reportUnknownMemberType]
    beside = folder / "w.bin"
    stored = [t for t in model.graph.initializer if t.external_data]
    if not stored or seed % 3 == 0:
        data = beside.read_bytes() if beside.exists() else b""
        beside.write_bytes(data[: int(rng.integers(len(data) + 1))])
    else:
        entries = stored[int(rng.integers(len(stored)))].external_data
        entry = entries[int(rng.integers(len(entries)))]
        entry.value = str(
            rng.choice(["", "-1", "7", "../w.bin", "/etc/passwd", ".", "w.bin\0", str(1 << 63), "x"])
        )
        path.write_bytes(model.SerializeToString())
    return lambda: _run(stepwell.compile(path, use_cache=False, processes=1, threads=2))


def _small_model(rng: np.random.Generator) -> onnx.ModelProto:
    # Those of even seeds have no open sizes, which some ops refuse.
    return random_program(2 * int(rng.integers(500)), (3, 8)).model


def _run(model: Any) -> None:
    feeds = feeds_of(model)
    if feeds is not None:
        model.run(feeds)


def _change_text(text: str, rng: np.random.Generator) -> str:
    for _ in range(int(rng.integers(1, 4))):
        tokens = list(_TOKEN.finditer(text))
        token = tokens[int(rng.integers(len(tokens)))]
        # Most others of its kind, such as another value or another number, still parse.
        alike = [other[0] for other in tokens if _kind(other[0]) == _kind(token[0])]
        match int(rng.integers(8)):
            case 0:
                new = ""
            case 1:
                new = f"{token[0]} {token[0]}"
            case 2:
                new = str(rng.choice(["-1", "0", "99999999999999999999", "?", '"', "4096", "{", "\0", "é"]))
            case 3 | 4:
                new = re.sub(r"\d+", lambda m: str(int(m[0]) + 1), token[0])
            case _:
                new = alike[int(rng.integers(len(alike)))]
        text = text[: token.start()] + new + text[token.end() :]
    return text


def _kind(token: str) -> str:
    return "0" if token[0].isdigit() else "a" if token[0].isalpha() else token[0]


_KINDS: Mapping[str, Callable[[int, Path, np.random.Generator], Callable[[], object]]] = {
    "text": _text,
    "weights": _weights,
    "external": _external,
}
