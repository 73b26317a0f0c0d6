"""
Conformance from the command line: `python -m tests.conformance NAME…` runs cases whose name contains one of
the texts; without a name all of them, in several processes, resumable, and writes ledger and table.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from tests.conformance.cases import case_names, dynamic_names, set_of
from tests.conformance.dynamic import MODES
from tests.conformance.ledger import WRITTEN, losses, read_ledger, write_ledger
from tests.conformance.outcome import Outcome
from tests.conformance.process import CaseProcess
from tests.conformance.table import write_table


def main(argv: Sequence[str] | None = None) -> int:
    """Run cases; the exit status is 1 when one is lost that the ledger has."""
    args = _arguments(argv)
    mode = WRITTEN if args.written else args.dynamic
    recorded = read_ledger(mode)
    every = _names(mode)
    shard, shards = map(int, args.shard.split("/"))
    names = [n for n in every if not args.names or any(text in n for text in args.names)][shard - 1 :: shards]
    results = args.results or Path(f"build/conformance{f'_{mode}' if mode else ''}.jsonl")
    known = resumed(results) if args.resume else {}
    outcomes = {name: known[name] for name in names if name in known}
    print(f"{len(names)} cases, {len(names) - len(outcomes)} to run", flush=True)
    start = partial(CaseProcess, server="tests.conformance.written") if args.written else CaseProcess
    for outcome in run_cases([n for n in names if n not in outcomes], args.processes, results, start):
        outcomes[outcome.name] = outcome
        if args.verbose or (args.names and not outcome.passed):
            print(f"{outcome.name}: {outcome.status} {outcome.reason} ({outcome.seconds} s)", flush=True)
    lost = losses(recorded, outcomes.values())
    _summarize(outcomes.values(), lost)
    if args.update and not lost:
        merged = recorded | outcomes
        write_ledger(every, merged, mode)
        write_table(read_ledger().values(), {mode: read_ledger(mode).values() for mode in MODES})
    return 1 if lost else 0


def _names(mode: str) -> Sequence[str]:
    """The names of the cases of a ledger."""
    if mode == WRITTEN:
        recorded = read_ledger()
        return [name for name in case_names() if set_of(name) == "node" and recorded[name].passed]
    return dynamic_names(mode, read_ledger()) if mode else case_names()


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("names", nargs="*", help="texts that names of cases contain (default: all cases)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shard", default="1/1", help="I/N: every N-th case, from the I-th on")
    parser.add_argument(
        "--dynamic", choices=MODES, default="", help="the node cases that pass, with symbolic dimensions"
    )
    parser.add_argument(
        "--written", action="store_true", help="the node cases that pass, as models that `to-onnx` writes"
    )
    parser.add_argument("--results", type=Path, help="default: build/conformance.jsonl, _one or _all")
    parser.add_argument("--resume", action="store_true", help="keep the results that the file has")
    parser.add_argument(
        "--update", action="store_true", help="unless a case is lost, write ledger and docs/onnx-support.md"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each case")
    return parser.parse_args(argv)


def run_cases(
    names: Sequence[str], processes: int, results: Path, start: Callable[[], CaseProcess] = CaseProcess
) -> Iterable[Outcome]:
    """Run cases in several processes; each outcome is appended to a file before it is yielded."""
    waiting: SimpleQueue[str] = SimpleQueue()
    done: SimpleQueue[Outcome] = SimpleQueue()
    for name in names:
        waiting.put(name)
    results.parent.mkdir(parents=True, exist_ok=True)
    lock = Lock()

    def work() -> None:
        process = start()
        while True:
            try:
                outcome = process.run(waiting.get_nowait())
            except Empty:
                process.close()
                return
            with lock, results.open("a", encoding="utf-8") as file:
                file.write(outcome.to_line() + "\n")
            done.put(outcome)

    for _ in range(min(processes, len(names))):
        Thread(target=work, daemon=True).start()
    for _ in names:
        yield done.get()


def resumed(results: Path) -> dict[str, Outcome]:
    """The outcomes that a file has."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return {outcome.name: outcome for outcome in map(Outcome.from_line, lines)}


def _summarize(outcomes: Iterable[Outcome], lost: Sequence[str]) -> None:
    found = list(outcomes)
    counts = Counter(outcome.status for outcome in found)
    print(f"{sum(o.passed for o in found)} of {len(found)} pass:", dict(counts.most_common()))
    for line in lost:
        print("LOST", line)


if __name__ == "__main__":
    sys.exit(main())
