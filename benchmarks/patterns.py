"""
The speed of tables of patterns: `python -m benchmarks.patterns MODEL.onnx...`.

For each kind of table: milliseconds for its first 50 patterns over a model, and the figure for 100 relative
to it, for listing all matches and for making composites.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from time import process_time

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.passes import run_pipeline
from stepwell.passes.base import functions_of
from stepwell.passes.graph.partition.match_patterns import matches_in
from stepwell.patterns import Pattern, dominates, is_constant, is_op, wildcard
from stepwell.patterns.groups import Duplicate
from stepwell.patterns.partitioning import TableRow, partition_table
from stepwell.patterns.read_text import TableEntry

PATTERNS = 100
REPEATS = 5

UNARY = ("relu", "tanh", "sigmoid", "gelu", "exp")
BINARY = ("add", "multiply", "subtract", "maximum", "divide")
SOURCES = ("conv", "matmul", "pool", "concat")


def _binary(name: str, first: Pattern) -> Pattern:
    return is_op(f"graph.{name}")(first, wildcard())


def chains() -> Iterator[Pattern]:
    """A contraction with two or three followers, as in the table of a backend."""
    for source, middle, last in product(SOURCES, BINARY, UNARY):
        yield is_op(f"graph.{last}")(_binary(middle, is_op(f"graph.{source}")(wildcard(), wildcard())))


def same_root() -> Iterator[Pattern]:
    """Patterns with the same root and different operands."""
    for first, second, source in product(BINARY, BINARY, SOURCES):
        inner = _binary(second, is_op(f"graph.{source}")(None))
        yield is_op("graph.relu")(_binary(first, inner))


def attributes() -> Iterator[Pattern]:
    """A convolution with attributes, alone or with elementwise ops after it."""
    for groups, size in product(range(1, 11), range(1, 6)):
        conv = is_op("graph.conv")(wildcard(), wildcard())
        chosen = conv.has_attr({"groups": groups, "strides": [size, size]})
        yield chosen
        yield chosen.optional(lambda c: is_op("graph.bias_add")(c, is_constant()))


def dominators() -> Iterator[Pattern]:
    """Sources, paths and joins: all joins are the same few ops, and some of them match."""
    elementwise, broadcast = is_op("trait:elementwise"), is_op("trait:broadcast")
    paths = (elementwise | broadcast, broadcast, elementwise, is_op("graph.relu"), is_op("graph.concat"))
    joins = ("add", "batch_norm", "conv", "multiply", "relu")
    for source, path, child in product(("relu", *SOURCES[:3]), paths, joins):
        yield dominates(is_op(f"graph.{source}")(None), path.dup(), is_op(f"graph.{child}"))


TABLES: dict[str, Callable[[], Iterator[Pattern]]] = {
    "chains": chains,
    "same root": same_root,
    "attributes": attributes,
    "dominators": dominators,
}


def list_matches(module: ModuleOp, patterns: Sequence[Pattern]) -> int:
    """List the matches of patterns; returns their number."""
    entries = [TableEntry(str(i), pattern, None) for i, pattern in enumerate(patterns)]
    return sum(1 for func in functions_of(module) for _ in matches_in(func, entries))


def make_composites(module: ModuleOp, patterns: Sequence[Pattern]) -> int:
    """Make composites of the matches of patterns; returns their number."""
    rows = [TableRow(str(i), pattern) for i, pattern in enumerate(patterns)]
    return sum(len(partition_table(rows, func, None, Duplicate.NEVER)) for func in functions_of(module))


def best_ms(
    work: Callable[[ModuleOp, Sequence[Pattern]], int], module: ModuleOp, count: int, kind: str
) -> float:
    """The least processor time of some runs, each on fresh patterns and a fresh module."""
    times: list[float] = []
    for _ in range(REPEATS):
        patterns, fresh = list(islice(TABLES[kind](), count)), module.clone()
        start = process_time()
        work(fresh, patterns)
        times.append(process_time() - start)
    return min(times) * 1e3


def main(paths: Sequence[str]) -> int:
    """Measure and print a table in Markdown."""
    print("| model | table | listed: 50, ms | 100 | composites: 50, ms | 100 |\n|---|---|---|---|---|---|")
    for path in paths:
        ctx = StepwellContext()
        run_pipeline(module := import_onnx(path, ctx), "convert-onnx-to-graph", ctx)
        for kind in TABLES:
            figures: list[str] = []
            for work in (list_matches, make_composites):
                half, whole = (best_ms(work, module, count, kind) for count in (PATTERNS // 2, PATTERNS))
                figures.append(f"{half:.0f} | {whole / half:.2f}x")
            print(f"| {path.rpartition('/')[2]} | {kind} | {' | '.join(figures)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
