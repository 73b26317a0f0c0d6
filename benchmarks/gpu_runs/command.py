"""The command line of `benchmarks.gpu`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

ARCHS = ("sm_80", "sm_90")
_MINUTES = 9.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare models, or run what was prepared; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python benchmarks/gpu.py", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    prepare = steps.add_parser("prepare", help="compile models and store what the CPU computes")
    prepare.add_argument("--out", type=Path, required=True)
    prepare.add_argument("--models", nargs="*", help="names (default: all kernels, and models that are here)")
    prepare.add_argument("--arch", nargs="*", default=list(ARCHS))
    prepare.add_argument("--batch", nargs="*", type=int, default=[1, 16])
    prepare.add_argument("--precision", nargs="*", help="f32, bf16 (default: f32, products in both)")
    run = steps.add_parser("run", help="compare and measure on a GPU")
    run.add_argument("folder", type=Path)
    run.add_argument("--minutes", type=float, default=_MINUTES)
    run.add_argument("--only", choices=("correctness", "latency"))
    run.add_argument("--json", type=Path)
    run.add_argument("--resume", type=Path)
    run.add_argument("--device", default="cuda:0", help="ptx-interpreter runs the same code without a GPU")
    args = parser.parse_args(arguments)
    if args.step == "prepare":
        from benchmarks.gpu_runs.prepare import prepare_all

        return prepare_all(args.out, args.models, args.arch, args.batch, args.precision)
    from benchmarks.gpu_runs.run import run_all

    return run_all(args.folder, args.device, args.minutes, args.only, args.json, args.resume)
