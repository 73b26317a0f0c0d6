"""
Mutants from the command line: `python -m tests.mutants` tries those of the sample that have no result yet.

The first run records which test reaches which line, which takes twice as long as all tests. The exit status
is 1 when too many mutants survive.
"""

from __future__ import annotations

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from threading import local
from time import monotonic

from tests.mutants.reach import Reach, record
from tests.mutants.results import REPORT, Results, equivalents, faults, report
from tests.mutants.sample import Mutant, draw
from tests.mutants.tree import WORK, copy_tree, source_files
from tests.mutants.trial import Outcome, try_mutant


def main(argv: Sequence[str] | None = None) -> int:
    """Record, try, report."""
    args = _arguments(argv)
    end = monotonic() + 60 * args.minutes
    files = [file for file in source_files() if file.startswith(tuple(args.only))]
    sample = draw(files, args.count, args.seed)
    if args.list:
        print("\n".join(f"{mutant.name}\n{mutant.diff()}" for mutant in sample))
        return 0
    known = equivalents()
    with _trees() as new_tree:
        if not args.no_record:
            for line in record(new_tree(), args.jobs):
                print(line, flush=True)
        reach = Reach()
        results = Results(reach.digest_of)
        waiting = [mutant for mutant in sample if mutant.key not in known and results.of(mutant) is None]
        print(f"{len(sample)} mutants, {len(waiting)} to try", flush=True)
        for mutant, outcome in _tried(waiting, reach, args.jobs, new_tree, end):
            results.add(mutant, outcome)
            print(f"{outcome.status}: {mutant.name} ({outcome.by}, {outcome.seconds} s)", flush=True)
    outcomes = {m: outcome for m in sample if (outcome := results.of(m)) is not None}
    outcomes |= {m: Outcome("equivalent") for m in sample if m.key in known}
    REPORT.write_text(report(outcomes, known), encoding="utf-8")
    wrong = faults(outcomes, known)
    print(*wrong, f"the report is in {REPORT}", sep="\n")
    return 1 if wrong else 0


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="no mutant begins after them (default: 60)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at the same time (default: 2)")
    parser.add_argument("--count", type=int, default=300, help="the size of the sample (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="beginnings of paths to draw from (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="print the sample")
    parser.add_argument(
        "--no-record", action="store_true", help="tests that have changed keep their old record"
    )
    return parser.parse_args(argv)


@contextmanager
def _trees() -> Generator[Callable[[], Path]]:
    """A function that copies the tree; copies are gone in the end, also those of runs that were killed."""
    for left in (WORK / "trees").glob("*"):
        if not Path("/proc", left.name).exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = WORK / "trees" / str(os.getpid())
    try:
        yield lambda: copy_tree(folder / str(len(list(folder.glob("*"))) if folder.exists() else 0))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tried(
    mutants: Sequence[Mutant], reach: Reach, jobs: int, new_tree: Callable[[], Path], end: float
) -> Iterator[tuple[Mutant, Outcome]]:
    """Mutants with their outcomes, from several threads, each with a copy of the tree."""
    own = local()
    trees = [new_tree() for _ in range(jobs)]

    def work(mutant: Mutant) -> Outcome | None:
        if monotonic() > end:
            return None
        if not hasattr(own, "tree"):
            own.tree = trees.pop()
        return try_mutant(mutant, own.tree, reach.tests_of(mutant))

    pool = ThreadPoolExecutor(jobs)
    try:
        futures = {pool.submit(work, mutant): mutant for mutant in mutants}
        for future in as_completed(futures):
            if (outcome := future.result()) is not None:
                yield futures[future], outcome
    finally:
        pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main())
