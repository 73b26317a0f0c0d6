"""Models compiled for GPUs, with samples of the CPU's outputs, in a folder for another machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import onnx.parser

import stepwell as sw
from benchmarks.gpu_runs.cases import INDEX, Case, sampled
from stepwell.runtime.errors import StepwellError

_ROOT = Path(__file__).resolve().parents[2]
_HOST = "cpu{mcpu=x86-64-v3}"
_MOST_BYTES = 20 << 20
"""The largest folder: it travels to another machine."""
_LARGE = 4 << 20
"""Artifacts above it stay out: weights do not travel."""


@dataclass(frozen=True)
class Source:
    """A model before it is compiled."""

    name: str
    path: Path
    shapes: Sequence[Sequence[int]]
    dtypes: Sequence[str]
    multiply_adds: int = 0


_KERNELS: Mapping[str, tuple[str, Sequence[Sequence[int]], int]] = {
    **{f"matmul-{n}": ("z = MatMul(x, y)", [(n, n), (n, n)], n**3) for n in (256, 1024, 4096)},
    "softmax": ("z = Softmax(x)", [(4096, 1024)], 0),
    "elementwise": ("t = Tanh(x) z = Relu(t)", [(4096, 4096)], 0),
    "transpose": ("z = Transpose(x)", [(4096, 4096)], 0),
    "convolution": ("z = Conv<pads = [1, 1, 1, 1]>(x, y)", [(1, 64, 56, 56), (64, 64, 3, 3)], 115605504),
}
"""Single kernels: nodes, shapes of inputs, products."""


def prepare_all(out: Path, names: Sequence[str] | None, archs: Sequence[str], batches: Sequence[int]) -> int:
    """Compile models for GPUs into a folder, but those that it has; returns the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    known = {case.key: case for case in Case.read_all(out)}
    for source in _sources(out, names, batches):
        expected: dict[str, Any] | None = None
        for arch in archs:
            if (key := f"{source.name}-{arch}") in known:
                continue
            begin = perf_counter()
            case = _compiled(source, arch, out, key)
            if case.artifact:
                expected = expected or sampled(_on_cpu(source, case))
                np.savez_compressed(out / case.expected, **expected)
            known[key] = case
            (out / INDEX).write_text(json.dumps([each.to_dict() for each in known.values()], indent=1))
            print(
                f"{key}: {case.error or f'{case.nbytes} bytes'}, {perf_counter() - begin:.1f} s", flush=True
            )
    total = sum(file.stat().st_size for file in out.iterdir())
    print(f"{len(known)} cases, {total / (1 << 20):.1f} MiB in {out}")
    return 0 if total <= _MOST_BYTES and known else 1


def _sources(out: Path, names: Sequence[str] | None, batches: Sequence[int]) -> Iterator[Source]:
    """The kernels and models of some names, all without names."""
    for name, (nodes, shapes, products) in _KERNELS.items():
        if names is None or name in names:
            model = onnx.parser.parse_model(_text(nodes, shapes))
            onnx.save(model, path := out / f"{name}.onnx")
            yield Source(name, path, shapes, ["float32"] * len(shapes), products)
            path.unlink()
    for name in ("digits",):
        if names is None or name in names:
            for batch in batches:
                yield Source(f"{name}-{batch}", _ROOT / "examples/digits.onnx", [(batch, 64)], ["float32"])
    from benchmarks.zoo import F32_MODELS, model_path

    for name, model in F32_MODELS.items():
        if (names is None or name in names) and (path := model_path(name)) is not None:
            specs = list(model.inputs.values())
            yield Source(name, path, [spec.shape for spec in specs], [spec.dtype for spec in specs])


def _text(nodes: str, shapes: Sequence[Sequence[int]]) -> str:
    """The text of a model with the inputs x, y and the output z."""
    typed = (f"float[{', '.join(map(str, s))}] {name}" for name, s in zip("xy", shapes, strict=False))
    rank = ", ".join("abcd"[: len(shapes[0])])
    return (
        f'<ir_version: 8, opset_import: ["" : 18]>\ng ({", ".join(typed)}) => (float[{rank}] z) {{ {nodes} }}'
    )


def _compiled(source: Source, arch: str, out: Path, key: str) -> Case:
    """Compile a model. What the compiler refuses is a result, too."""
    case = Case(key, arch, "", source.shapes, source.dtypes, 1, "", 0, source.multiply_adds)
    try:
        model = sw.compile(source.path, target=f"cuda{{arch={arch}}} on {_HOST}", use_cache=False)
    except StepwellError as error:
        return replace(case, error=f"{error.code}: {error.message}")
    file = out / f"{key}.stepwell"
    model.save(file)
    size = file.stat().st_size
    if size > _LARGE:
        file.unlink()
        return replace(case, error=f"{size >> 20} MiB: weights do not travel", nbytes=size)
    return replace(case, artifact=file.name, nbytes=size)


def _on_cpu(source: Source, case: Case) -> list[Any]:
    """The outputs of the CPU."""
    found = sw.compile(source.path)(*case.inputs())
    return list(found) if isinstance(found, tuple | list) else [found]
