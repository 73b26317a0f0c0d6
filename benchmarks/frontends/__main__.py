"""
Models of PyTorch beside their ONNX files and inductor: `python -m benchmarks.frontends`, tables in Markdown.

`calls` and `reading` are measured in this process, `latency` in a process for each model: those figures are
written to `build/frontends.json`, and a run with the same sources goes on where the last one was ended. It
needs the extras `torch` and `frontends`, timm, and onnxscript for torch's exporter.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.functional.rows import HEAD, Row
from benchmarks.zoo import REPOSITORY
from stepwell.lowering.kernels.fingerprint import compiler_fingerprint
from stepwell.runtime.rpc.interleaved import geometric_mean

SOURCES = ("dialects", "frontend", "lowering", "passes", "runtime", "tools")
"""The sources of which the figures are."""
KINDS = ("calls", "reading", "latency")
MOST_OVER_ONNX, LEAST_OVER_INDUCTOR = 1.05, 1.3
LATENCY_HEAD = (
    "| Model | By export, ms | Over ONNX | Kernels (ONNX) | torch.compile, ms | Inductor over it |\n"
    "|---|---|---|---|---|---|"
)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print each row as it is known."""
    parser = ArgumentParser(prog="benchmarks.frontends", description=__doc__)
    parser.add_argument("models", nargs="*", help="models for `latency` (default: all)")
    parser.add_argument("--rows", nargs="+", choices=KINDS, default=[*KINDS], help="default: all")
    parser.add_argument("--results", type=Path, default=Path("build/frontends.json"))
    args = parser.parse_args(argv)
    from tests.frontends.torch_cases import CASES, without_its_operators

    without_its_operators("torchvision")
    rows: list[Row] = []
    if "latency" in args.rows:
        rows += _latency_rows(args.models or [*CASES], args.results)
    print(HEAD)
    for row in rows:
        print(row, flush=True)
    for row in _own_rows(args.rows):
        print(row, flush=True)


def _own_rows(kinds: Sequence[str]) -> Iterator[Row]:
    """The rows that are measured in this process."""
    from benchmarks.frontends.calls import call_rows
    from benchmarks.frontends.reading import reading_rows

    if "calls" in kinds:
        yield from call_rows()
    if "reading" in kinds:
        yield from reading_rows()


def _latency_rows(names: Sequence[str], results: Path) -> list[Row]:
    """The geometric means over models, each of which is printed when it is measured."""
    state = compiler_fingerprint(SOURCES)
    content = json.loads(results.read_text()) if results.exists() else {}
    known: dict[str, Any] = content["models"] if content.get("state") == state else {}
    print(LATENCY_HEAD)
    for name in names:
        if name not in known:
            known[name] = _measured(name)
            results.parent.mkdir(parents=True, exist_ok=True)
            results.write_text(json.dumps({"state": state, "models": known}, indent=1) + "\n")
        print(_line(name, known[name]), flush=True)
    print()
    found = [known[name] for name in names]
    onnx = geometric_mean([each["export over onnx"] for each in found])
    inductor = geometric_mean([each["inductor over stepwell"] for each in found])
    return [
        Row("latency over the same models by ONNX", f"{onnx:.2f}", "<= 1.05", onnx <= MOST_OVER_ONNX),
        Row("inductor's latency over ours", f"{inductor:.2f}", ">= 1.3", inductor >= LEAST_OVER_INDUCTOR),
    ]


def _measured(name: str) -> dict[str, Any]:
    """The figures of a model. Raises: CalledProcessError when an engine fails."""
    command = [sys.executable, "-m", "benchmarks.frontends.latency", name]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    return cast("dict[str, Any]", json.loads(done.stdout.splitlines()[-1]))


def _line(name: str, found: dict[str, Any]) -> str:
    ms, kernels = found["ms"], found["kernels"]
    return (
        f"| {name} | {ms['export']:.3f} | {found['export over onnx']:.2f} | {kernels['export']} "
        f"({kernels['onnx']}) | {ms['stepwell']:.3f} | {found['inductor over stepwell']:.2f} |"
    )


if __name__ == "__main__":
    main()
