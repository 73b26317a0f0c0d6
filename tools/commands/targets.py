"""`stepwell targets`: the CPUs that code is made for, kinds of devices, and devices by name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.demands import missing_features
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.machine.target import F32_BYTES, host_target
from stepwell.runtime.targets.cpu import CpuRow, cpu_rows
from stepwell.runtime.targets.kind import Kind
from stepwell.runtime.targets.registry import Tag, kind_named, kind_names, tags
from stepwell.runtime.targets.text import CPU


def add_arguments(parser: ArgumentParser) -> None:
    """Add the beginning of names."""
    parser.add_argument("prefix", nargs="?", default="", metavar="PREFIX", help="only names that begin so")


def run(args: Namespace) -> int:
    """Print the tables; returns the exit status."""
    prefix = args.prefix
    cpus = [(row, _runs_here(row)) for row in cpu_rows().values() if row.name.startswith(prefix)]
    found = (kind_named(name) for name in kind_names() if name != CPU and name.startswith(prefix))
    kinds = [kind for kind in found if kind is not None]
    devices = [tag for name, tag in tags().items() if name.startswith(prefix)]
    if not (cpus or kinds or devices):
        raise StepwellError("unknown-target", None, f"no target's name begins with {prefix!r}")
    args.facts["targets"] = [row._asdict() | {"runs here": runs} for row, runs in cpus]
    args.facts["kinds"] = [_kind_facts(kind) for kind in kinds]
    args.facts["devices"] = [tag._asdict() for tag in devices]
    if not prefix:
        print(f"{'host':<16} {host_target()}")
    _print_cpus(cpus)
    for kind in kinds:
        print(f"{kind.name:<16} {kind.about}{'; experimental' if kind.experimental else ''}")
    if prefix:
        for tag in devices:
            print(f"{tag.name:<32} {_target_of(tag)}")
    else:
        print(f"{len(devices)} devices by name: `stepwell targets nvidia/`, `amd/`, `apple/`")
    return 0


def _print_cpus(cpus: Sequence[tuple[CpuRow, bool]]) -> None:
    """Print the table of CPUs, under a heading."""
    lines = [("name", "triple", "vectors", "runs on", "for")] if cpus else []
    for row, runs in cpus:
        vectors = f"{row.vector_bytes} B" if row.vector_bytes > F32_BYTES else "scalar"
        lines.append((row.name, row.triple, vectors, _runs_on(row, runs), row.about))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print(*(f"{text:<{width}}" for text, width in zip(line[:-1], widths, strict=False)), line[-1])


def _runs_on(row: CpuRow, runs: bool) -> str:
    """Where code runs: here, on an emulator, or on other machines only."""
    if runs:
        return "this machine"
    emulator = row.emulator.partition(" ")[0]
    return "elsewhere" if emulator in ("native", "none") else emulator


def _kind_facts(kind: Kind) -> dict[str, object]:
    """A kind and the defaults of its attributes, as JSON."""
    target = Target(kind.name)
    return {"name": kind.name, "experimental": kind.experimental, "attributes": dict(target.attrs)}


def _target_of(tag: Tag) -> str:
    """The target that a device's name stands for, as text."""
    return str(Target(tag.name))


def _runs_here(row: CpuRow) -> bool:
    """Whether this machine has the system and the features, whatever its C library."""
    return not missing_features(row.triple, row.features)
