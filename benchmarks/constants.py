"""
The tuned constants: `python -m benchmarks.constants` lists them, with names it measures them again.

For each name, kernels on which the constant has an effect are compiled with half of its value, the value and
twice the value (or with `--values`), in this process and without caches, and take turns. Each time is shown
relative to that of today's value: below 1, the other value is faster. `--code` compiles only, and says where
another value makes other code.
"""

from __future__ import annotations

import hashlib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from time import perf_counter, process_time

from benchmarks.cases.constants import WAYS, Way
from benchmarks.cases.kernels import Case
from stepwell.dialects.costs.kernels import CELLS, COMPILER, POOLS, SEARCHES, THREADS, TREES
from stepwell.dialects.costs.layouts import ATTENTION, LAYOUTS, NBITS, WINOGRAD
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.costs.schedules import BUFFERS, ELEMENTWISE, PRODUCTS, ROWS, TILES, VECTORS
from stepwell.dialects.costs.table import ZEN4, Table, overridden
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import Latency, Ratio, geometric_mean, interleave, ratio
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.measure.peers import Runner

_NO_DIFFERENCE = 0.02
"""The share of the time by which another value must be faster to be better, in a case beyond the spread."""
TABLES: Mapping[str, Table] = {
    "machine": MACHINE,
    "layouts": LAYOUTS,
    "winograd": WINOGRAD,
    "attention": ATTENTION,
    "nbits": NBITS,
    "tiles": TILES,
    "products": PRODUCTS,
    "rows": ROWS,
    "elementwise": ELEMENTWISE,
    "vectors": VECTORS,
    "buffers": BUFFERS,
    "pools": POOLS,
    "cells": CELLS,
    "searches": SEARCHES,
    "trees": TREES,
    "threads": THREADS,
    "compiler": COMPILER,
}


@dataclass(frozen=True)
class InPlace:
    """A tuned constant of the runtime, which has no tables: making their classes would slow down loading."""

    module: str
    name: str
    unit: str


IN_PLACE = (
    InPlace("stepwell.runtime.machine.pool_state", "WORKER_SPINS", "spins"),
    InPlace("stepwell.runtime.memory", "ALIGNED_BYTES", "bytes"),
    InPlace("stepwell.runtime.memory", "_KEPT_BYTES", "bytes"),
    InPlace("stepwell.runtime.files.weights", "PARALLEL_BYTES", "bytes"),
    InPlace("stepwell.runtime.files.model_cache", "_PARALLEL_BYTES", "bytes"),
    InPlace("stepwell.runtime.files.weight_check", "_AT_ONCE_BYTES", "bytes"),
    InPlace("stepwell.runtime.files.weight_check", "_BYTES_A_THREAD", "bytes"),
    InPlace("stepwell.runtime.files.weight_check", "_MOST_THREADS", "threads"),
)


@dataclass(frozen=True)
class Row:
    """A tuned constant: its name with the table's, value, unit, CPU, and the way to measure it again."""

    key: str
    value: float
    unit: str
    cpu: str
    override: Callable[[float], AbstractContextManager[None]]
    """Another value for the constant, inside of a block."""

    @property
    def measured(self) -> Way:
        """The kernels that depend on it, or the reason why none can be measured here."""
        return WAYS.get(self.key, Way())

    @property
    def neighbourhood(self) -> Sequence[float]:
        """The values to compare: half, today's and twice the value, as integers for integers."""
        others = self.measured.values or (self.value / 2, self.value * 2)
        whole = isinstance(self.value, int)
        return sorted({self.value, *(max(1, int(v)) if whole else v for v in others)})


def rows() -> Sequence[Row]:
    """All rows: those of the compiler's tables, then those of the runtime."""
    made: list[Row] = []
    for prefix, table in TABLES.items():
        for name, row in table.rows.items():
            override = _table_override(table, name)
            made.append(Row(f"{prefix}.{name}", row.value, row.unit, row.cpu, override))
    for place in IN_PLACE:
        key = f"{place.module.removeprefix('stepwell.')}.{place.name}"
        value = getattr(import_module(place.module), place.name)
        made.append(Row(key, value, place.unit, ZEN4, _module_override(place)))
    return made


def _table_override(table: Table, name: str) -> Callable[[float], AbstractContextManager[None]]:
    return lambda value: overridden(table, **{name: value})


def _module_override(place: InPlace) -> Callable[[float], AbstractContextManager[None]]:
    @contextmanager
    def override(value: float) -> Generator[None]:
        module = import_module(place.module)
        before = getattr(module, place.name)
        setattr(module, place.name, value)
        try:
            yield
        finally:
            setattr(module, place.name, before)

    return override


@dataclass(frozen=True)
class Measured:
    """The measurement of a case: the time of each value; values with equal code share one."""

    name: str
    now: float
    """Today's value."""
    seconds: Mapping[float, Latency]
    failed: Mapping[float, str]

    @property
    def differs(self) -> bool:
        """Whether any two values were timed apart."""
        return len({id(latency) for latency in self.seconds.values()}) > 1

    def ratio(self, value: float) -> Ratio:
        """The time with a value over the time with today's."""
        same = self.seconds[value] is self.seconds[self.now]
        return Ratio(1, 1, 1) if same else ratio(self.seconds[value], self.seconds[self.now])

    def cell(self, value: float) -> str:
        """The time of today's value in µs; the ratio, with its interval, of another."""
        if value in self.failed:
            return self.failed[value]
        if value == self.now:
            return f"{1e6 * self.seconds[value].median:.1f} µs"
        same = self.seconds[value] is self.seconds[self.now]
        return "same code" if same else str(self.ratio(value))


def measure(row: Row, values: Sequence[float], rounds: int) -> list[Measured]:
    """The times of the row's cases with each of the values."""
    way = row.measured
    clock = process_time if way.threads == 1 else perf_counter
    found: list[Measured] = []
    for case in way.all_cases():
        variants, failed = _variants(row, way, case, values)
        taken = interleave({key: run for key, (run, _) in variants.items()}, rounds, clock)
        times = {value: taken[key] for key, (_, same) in variants.items() for value in same}
        found.append(Measured(case.name, row.value, times, failed))
    for name, run in way.runs().items():
        taken = interleave({str(v): _under(row, v, run) for v in values}, rounds, perf_counter)
        found.append(Measured(name, row.value, {v: taken[str(v)] for v in values}, {}))
    return found


def _under(row: Row, value: float, run: Callable[[], object]) -> Runner:
    """A function that runs with another value."""

    def under() -> Sequence[Array]:
        with row.override(value):
            run()
        return ()

    return under


def _variants(
    row: Row, way: Way, case: Case, values: Sequence[float]
) -> tuple[dict[str, tuple[Runner, list[float]]], dict[float, str]]:
    """A runner for each different code with the values that make it, and the errors of other values."""
    variants: dict[str, tuple[Runner, list[float]]] = {}
    failed: dict[float, str] = {}
    for value in values:
        try:
            image = _image(row, way, case, value)
        except StepwellError as error:
            failed[value] = error.code
            continue
        key = _digest(image)
        if key not in variants:
            variants[key] = (_runner(image, way, case), [])
        variants[key][1].append(value)
    return variants, failed


def _image(row: Row, way: Way, case: Case, value: float) -> ModelImage:
    options = CompileOptions(mcpu=way.mcpu, use_cache=False, processes=1)
    with row.override(value):
        return build_image(case.model(), options)


def _digest(image: ModelImage) -> str:
    """A digest of all code and weights."""
    digest = hashlib.blake2b()
    for entry in image.functions.values():
        for variant in entry.variants:
            digest.update(repr((variant.code, variant.pool)).encode())
    for array in image.weights:
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def _runner(image: ModelImage, way: Way, case: Case) -> Runner:
    model, feeds = CompiledModel(image, threads=way.threads), case.feeds()
    arrays = [feeds[spec.name] for spec in model.interface.inputs]

    def run() -> Sequence[Array]:
        model(*arrays)
        return ()

    return run


def changes_code(row: Row, values: Sequence[float]) -> Mapping[str, bool]:
    """By case: whether some value makes other code than another one."""
    way = row.measured
    return {
        case.name: len({_digest(_image(row, way, case, value)) for value in values}) > 1
        for case in way.all_cases()
    }


def report(row: Row, cases: Sequence[Measured], values: Sequence[float]) -> str:
    """The table of a row's cases in Markdown, and the value with the least time."""
    heads = [f"{_number(v)}{' now' if v == row.value else ''}" for v in values]
    lines = [f"| {row.key} | {' | '.join(heads)} |", "|---|" + "---|" * len(values)]
    lines += [f"| {m.name} | {' | '.join(map(m.cell, values))} |" for m in cases]
    differing = [m for m in cases if m.differs and not m.failed]
    if not differing:
        return "\n".join([*lines, "", "no value makes other code"])
    means = {value: geometric_mean([m.ratio(value).median for m in differing]) for value in values}
    least = min(means, key=means.__getitem__)
    is_certain = any(m.ratio(least).high < 1 for m in differing)
    best = least if is_certain and means[least] < 1 - _NO_DIFFERENCE else row.value
    lines.append(f"| geometric mean | {' | '.join(f'{means[v]:.3f}' for v in values)} |")
    return "\n".join(
        [*lines, "", f"best: {_number(best)} {row.unit}{', as now' if best == row.value else ''}"]
    )


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def listing() -> str:
    """All rows as a table in Markdown."""
    lines = ["| constant | value | unit | CPU | measured again by |", "|---|---|---|---|---|"]
    for row in rows():
        script = row.measured.reason or f"python -m benchmarks.constants {row.key}"
        lines.append(f"| {row.key} | {_number(row.value)} | {row.unit} | {row.cpu} | {script} |")
    return "\n".join(lines)


@cache
def row_named(key: str) -> Row:
    """The row of a name. Raises: SystemExit for a name that no row has."""
    known = {row.key: row for row in rows()}
    if key not in known:
        raise SystemExit(f"no constant is named {key!r}\n{did_you_mean(key, known)}")
    return known[key]


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.constants", description=__doc__)
    parser.add_argument("names", nargs="*", help="which to measure (default: none, all are listed)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--values", help="values to compare with today's, with commas between")
    parser.add_argument("--code", action="store_true", help="compile only: whether values make other code")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """List all constants, or measure some; returns the exit status: 1 where nothing depends on a constant."""
    args = _arguments(argv)
    if not args.names:
        print(listing())
    status = 0
    for row in map(row_named, args.names):
        if row.measured.reason:
            print(f"{row.key}: {row.measured.reason}")
            continue
        given = [type(row.value)(text) for text in args.values.split(",")] if args.values else []
        values = sorted({row.value, *given}) if given else row.neighbourhood
        if args.code:
            changed = changes_code(row, values)
            print(f"{row.key}: {sum(changed.values())} of {len(changed)} cases get other code", flush=True)
            status |= bool(changed) and not any(changed.values())
        else:
            print(report(row, measure(row, values, args.rounds), values) + "\n", flush=True)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
