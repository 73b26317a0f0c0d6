"""The table of CPUs: `cpu.csv`, a row for each level of features that `--mcpu` takes."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from stepwell.runtime.targets.triples import arch_of, system_of


class CpuRow(NamedTuple):
    """A level of features, and what code generation knows of CPUs that have them."""

    name: str
    triple: str
    vector_bytes: int
    """Size of the widest vector register; the size of an f32 for a CPU without vectors."""
    vector_registers: int
    abi: str
    """The calling convention, if the triple does not determine it."""
    emulator: str
    """The command that runs programs of this CPU elsewhere; `native` for this kind of machine, or `none`."""
    features: tuple[str, ...]
    """LLVM's names, sorted."""
    about: str

    @property
    def has_own_system(self) -> bool:
        """
        Whether the row is for a system of its own: Windows or macOS.

        Its triple ends in `elf`: code is compiled to objects that our linker reads, with the calling
        convention of the system.
        """
        return system_of(self.triple) in ("windows", "apple")

    @property
    def arch(self) -> str:
        """The architecture of the triple."""
        return arch_of(self.triple)


@cache
def cpu_rows() -> Mapping[str, CpuRow]:
    """The rows by name, in the order of the table: of an architecture, lower levels first."""
    with Path(__file__).with_name("cpu.csv").open(encoding="utf-8", newline="") as file:
        rows = [_row(row) for row in csv.DictReader(file)]
    return {row.name: row for row in rows}


def _row(row: Mapping[str, str]) -> CpuRow:
    return CpuRow(
        row["name"],
        row["triple"],
        int(row["vector_bytes"]),
        int(row["vector_registers"]),
        row["abi"],
        row["emulator"],
        tuple(row["features"].split()),
        row["about"],
    )


def level_of(arch: str, features: frozenset[str]) -> CpuRow | None:
    """The highest level of an architecture that features include."""
    fitting = [row for row in cpu_rows().values() if row.arch == arch and features.issuperset(row.features)]
    return fitting[-1] if fitting else None
