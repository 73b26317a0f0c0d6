"""
Programs with functions, data and gradients: `python -m benchmarks.functional`, a table in Markdown.

`--rows` chooses among them. Peers are torch 2 (eager, one thread) and Relax VM (apache-tvm), where the
interpreter that runs this has them; the sources come first on its path (`PYTHONPATH=.`).
`python -m benchmarks.functional.unchanged REVISION` compares models without functional features with another
state of the repository.
"""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.functional.beam_search import beam_search_rows
from benchmarks.functional.calls import call_rows, growth_rows
from benchmarks.functional.recursion import recursion_rows
from benchmarks.functional.rows import HEAD, Row
from benchmarks.functional.suites import suite_rows
from benchmarks.functional.tree_lstm import tree_lstm_rows
from benchmarks.training import training_rows
from stepwell.runtime.environment import CACHE

MEASUREMENTS: Mapping[str, Callable[[Path], Iterator[Row]]] = {
    "memory": growth_rows,  # first: later ones leave memory that is free and still counted
    "calls": call_rows,
    "trees": tree_lstm_rows,
    "recursion": recursion_rows,
    "beam": lambda _: beam_search_rows(),
    "training": training_rows,
    "suites": suite_rows,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure with an empty cache, and print each row as it is known."""
    parser = ArgumentParser(prog="benchmarks.functional", description=__doc__)
    parser.add_argument(
        "--rows", nargs="+", choices=MEASUREMENTS, default=[*MEASUREMENTS], help="default: all"
    )
    args = parser.parse_args(argv)
    print(HEAD)
    with tempfile.TemporaryDirectory() as name:
        os.environ[CACHE.name] = str(Path(name, "cache"))
        for each in args.rows:
            for row in MEASUREMENTS[each](Path(name)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
