"""`stepwell targets`: the CPUs that code is made for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from stepwell.runtime.machine.demands import missing_features
from stepwell.runtime.machine.target import F32_BYTES, host_target
from stepwell.runtime.targets.cpu import cpu_rows


def add_arguments(parser: ArgumentParser) -> None:
    """Add no arguments."""


def run(args: Namespace) -> int:
    """Print the table; returns the exit status."""
    print(f"{'host':<16} {host_target()}")
    known = [(row, _runs_here(row.triple, row.features)) for row in cpu_rows().values()]
    args.facts["targets"] = [row._asdict() | {"runs here": runs} for row, runs in known]
    for row, runs in known:
        vectors = f"{row.vector_bytes} B" if row.vector_bytes > F32_BYTES else "scalar"
        how = "runs here" if runs else row.emulator.partition(" ")[0]
        print(f"{row.name:<16} {row.triple:<30} {vectors:<7} {how:<13} {row.about}")
    return 0


def _runs_here(triple: str, features: tuple[str, ...]) -> bool:
    """Whether this machine has the features, whatever its C library."""
    host = host_target()
    if triple.partition("-")[0] != host.arch:
        return False
    return not missing_features(host.triple, features)
