"""The results of trials: kept in a file from which a run goes on, and the report of what survived."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from tests.mutants.sample import Mutant
from tests.mutants.tree import WORK
from tests.mutants.trial import Outcome

STATE = WORK / "results.jsonl"
REPORT = WORK / "report.md"
EQUIVALENT = Path(__file__).with_name("equivalent.md")
"""Mutants that compute the same as the original, or differ in speed only, with the reason."""
LEAST_KILLED = 0.9
"""The share of mutants that must be killed, of those that are not equivalent."""
NO_SURVIVORS = ("lowering/bufferize/", "runtime/", "patterns/")
"""Folders in which every mutant must be killed that is not equivalent."""


class Results:
    """
    Outcomes by the text of a mutant, each appended to a file at once: a run may be ended at any time.

    They have a digest of the tests that reach the mutant: what survived others is tried again.

    Args: `tests` computes that digest.
    """

    def __init__(self, tests: Callable[[Mutant], str], path: Path = STATE):
        self._tests = tests
        self._path = path
        self._known: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                known = json.loads(line)
                self._known[known["key"]] = known

    def of(self, mutant: Mutant) -> Outcome | None:
        """The outcome of a mutant; None where it has to be tried, or tried again."""
        known = self._known.get(mutant.key)
        if known is None or (
            known["outcome"]["status"] != "killed" and known["tests"] != self._tests(mutant)
        ):
            return None
        return Outcome(**known["outcome"])

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Store an outcome."""
        known = {"key": mutant.key, "tests": self._tests(mutant), "outcome": asdict(outcome)}
        self._known[mutant.key] = known
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(known) + "\n")


def equivalents(path: Path = EQUIVALENT) -> dict[str, str]:
    """
    The listed mutants with their reasons, by key.

    An entry is a heading with the file, a block of the lines removed and added, and the reason.
    """
    found: dict[str, str] = {}
    for entry in path.read_text(encoding="utf-8").split("\n## ")[1:]:
        head, block, reason = entry.split("```")
        removed = [line[2:] for line in block.splitlines() if line.startswith("- ")]
        added = [line[2:] for line in block.splitlines() if line.startswith("+ ")]
        key = "\n".join([head.strip(), *removed]) + "\n" + "\n".join(added)
        found[key] = " ".join(reason.split())
    return found


def report(outcomes: Mapping[Mutant, Outcome], known: Mapping[str, str]) -> str:
    """The report: counts by folder, and each survivor as a diff with its reason, if it has one."""
    alive = {m: o for m, o in outcomes.items() if o.status != "killed"}
    open_ones = [m for m in alive if m.key not in known]
    counted = len(outcomes) - (len(alive) - len(open_ones))
    share = (counted - len(open_ones)) / counted if counted else 1.0
    lines = [
        f"{len(outcomes)} mutants: {len(outcomes) - len(alive)} killed, {len(alive)} survived, of which "
        f"{len(alive) - len(open_ones)} are equivalent: {share:.1%} killed of the others.",
        "",
        *_table(outcomes, open_ones),
    ]
    for mutant in sorted(alive, key=lambda m: (m.key in known, m)):
        outcome = alive[mutant]
        about = known.get(mutant.key) or f"{outcome.status} {outcome.tests} tests in {outcome.seconds:.0f} s"
        if outcome.reason and mutant.key not in known:
            about += f", {outcome.reason}"
        lines += ["", f"## {mutant.name}", "```diff", mutant.diff(), "```", about]
    return "\n".join(lines) + "\n"


def _table(outcomes: Iterable[Mutant], open_ones: Sequence[Mutant]) -> list[str]:
    """The folders with their numbers of mutants and survivors."""

    def folder(mutant: Mutant) -> str:
        return PurePosixPath(mutant.file).parent.as_posix()

    every, alive = Counter(map(folder, outcomes)), Counter(map(folder, open_ones))
    rows = [f"| {name} | {count} | {alive[name]} |" for name, count in sorted(every.items())]
    return ["| Folder | Mutants | Survivors |", "|---|---|---|", *rows]


def faults(outcomes: Mapping[Mutant, Outcome], known: Mapping[str, str]) -> list[str]:
    """What the results lack of what is required of them; nothing when they are as they must be."""
    alive = [m for m, outcome in outcomes.items() if outcome.status != "killed" and m.key not in known]
    others = sum(outcome.status == "killed" or m.key not in known for m, outcome in outcomes.items())
    found = [
        f"{mutant.name}: none may survive here" for mutant in alive if mutant.file.startswith(NO_SURVIVORS)
    ]
    if others and len(alive) > (1 - LEAST_KILLED) * others:
        found.append(f"{len(alive)} of {others} mutants survived")
    return found
