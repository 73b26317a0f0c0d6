"""Models compiled for GPUs, with samples of the CPU's outputs, in a folder for another machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np
import onnx

import stepwell as sw
from benchmarks.gpu_runs import sources
from benchmarks.gpu_runs.cases import Case, key_of, sampled
from benchmarks.gpu_runs.seeded import SUFFIX, store
from benchmarks.gpu_runs.sources import Source
from stepwell.runtime.errors import StepwellError

_HOST = "cpu{mcpu=x86-64-v3}"
_MOST_BYTES = 20 << 20
"""The largest folder: it travels to another machine."""
_LARGE = 1 << 20
"""A stored file above it has weights that compilation changed, and is left out."""


def prepare_all(
    out: Path,
    names: Sequence[str] | None,
    archs: Sequence[str],
    batches: Sequence[int],
    precisions: Sequence[str] | None,
) -> int:
    """Compile models for GPUs into a folder, but those that it has; returns the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    known = {case.key: case for case in Case.read_all(out)}
    for name in sources.names():
        if names is not None and name not in names:
            continue
        wanted = [(arch, precision) for arch in archs for precision in _precisions(name, precisions)]
        if all(key_of(name, b, precision, arch) in known for b in batches for arch, precision in wanted):
            continue
        if (source := sources.source(name, batches)) is None:
            print(f"{name}: the file is not here (STEPWELL_MODELS)", flush=True)
            continue
        for case in _prepared(source, wanted, out, known):
            known[case.key] = case
            Case.write_all(list(known.values()), out)
    total = sum(file.stat().st_size for file in out.iterdir())
    print(f"{len(known)} cases, {total / (1 << 20):.1f} MiB in {out}")
    return 0 if total <= _MOST_BYTES and known else 1


def _precisions(name: str, precisions: Sequence[str] | None) -> Sequence[str]:
    """The precisions of a model: f32 where none are asked for, since all in bf16 too are more than 20 MB."""
    is_product = name.startswith("matmul") or name == "convolution"
    if precisions is None:
        return ["f32", "bf16"] if is_product else ["f32"]
    return precisions if is_product or name not in sources.KERNELS else ["f32"]


def _prepared(
    source: Source, wanted: Sequence[tuple[str, str]], out: Path, known: Mapping[str, Case]
) -> Iterator[Case]:
    """The cases of a model: an artifact for each architecture and precision, for all batch sizes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{source.name}.onnx"
        onnx.save(source.model, path)
        if not (out / (stored := f"{source.name}.onnx{SUFFIX}")).exists():
            store(path, source.draws, out / stored)
        for arch, precision in wanted:
            begin = perf_counter()
            if all(key_of(source.name, batch, precision, arch) in known for batch in source.inputs):
                continue
            artifact, nbytes, error = _compiled(source, path, arch, precision, out)
            for batch, inputs in source.inputs.items():
                case = Case(
                    model=source.name,
                    batch=batch,
                    arch=arch,
                    precision=precision,
                    inputs=[draw.to_json() for draw in inputs.values()],
                    artifact=artifact,
                    onnx=stored,
                    names=list(inputs),
                    error=error,
                    nbytes=nbytes,
                )
                yield _with_expected(case, source, path, out)
            said = error or f"{nbytes} bytes, {(out / artifact).stat().st_size} stored"
            print(f"{source.name} {precision} {arch}: {said}, {perf_counter() - begin:.1f} s", flush=True)


def _compiled(source: Source, path: Path, arch: str, precision: str, out: Path) -> tuple[str, int, str]:
    """The name of a stored artifact, its size with weights, and the reason where there is none."""
    target = f"cuda{{arch={arch}}} on {_HOST}"
    file = path.with_suffix(".stepwell")
    try:
        model = sw.compile(
            path, target=target, precision=cast(Any, precision), input_shapes=source.fixed, use_cache=False
        )
        model.save(file)
    except StepwellError as error:
        return "", 0, f"{error.code}: {error.message}"
    nbytes = file.stat().st_size
    name = f"{source.name}-{precision}-{arch}{SUFFIX}"
    stored = store(file, source.draws, out / name)
    if stored > _LARGE:
        (out / name).unlink()
        return "", nbytes, f"{stored >> 10} KiB of {nbytes >> 10} follow from no seed"
    return name, nbytes, ""


def _with_expected(case: Case, source: Source, path: Path, out: Path) -> Case:
    """A case whose expected outputs are stored, or the reason for which there are none."""
    if not case.artifact or (out / case.expected).exists():
        return case
    found = sw.compile(path, input_shapes=source.fixed)(*case.arrays())
    outputs = [np.asarray(each) for each in (found if isinstance(found, tuple | list) else [found])]
    if any(each.dtype.kind == "f" and not np.isfinite(each).all() for each in outputs):
        return replace(case, artifact="", error="drawn weights make outputs that are not finite")
    np.savez_compressed(out / case.expected, **sampled(outputs))
    return case
