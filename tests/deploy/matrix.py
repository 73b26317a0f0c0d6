"""
The models and targets of `make deploy` as a table in Markdown: `python -m tests.deploy.matrix RESULTS.jsonl`.

A cell says what ran of a case: the files of all suffixes, also an emulator with comparison, or the refusal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from stepwell.runtime.targets.cpu import cpu_rows
from tests.deploy.shards import Outcome, outcomes
from tests.deploy.test_emulated import TARGETS
from tests.deploy.test_targets import BIG_BYTES, LITTLE, MODELS, ROWS, suffixes_of

_CASE = "tests/deploy/test_targets.py::test_a_model_has_each_file_of_each_target[{}-{}]"
_CODE = re.compile(r": ([a-z]+(?:-[a-z]+)+): ")
FILES, RAN, NONE = "files", "ran", "–"


def cell(mcpu: str, name: str, found: Mapping[str, Outcome]) -> str:
    """What a case showed: `ran`, `files`, the code of a refusal, `FAILED`, or nothing yet."""
    outcome = found.get(_CASE.format(mcpu, name))
    if outcome is None:
        return NONE
    if outcome.outcome == "passed":
        return RAN if name in LITTLE and mcpu in TARGETS else FILES
    if outcome.outcome == "failed":
        return "FAILED"
    if "the files are there" in outcome.reason:
        return FILES
    code = _CODE.search(outcome.reason)
    return code[1] if code else "skipped"


def table(found: Mapping[str, Outcome]) -> str:
    """The suffixes of each target, and a row for each model."""
    lines = ["| Target | Files | Of models above 64 MB | Emulator |", "|---|---|---|---|"]
    for mcpu in ROWS:
        row = cpu_rows()[mcpu]
        all, few = (" ".join(suffixes_of(row.triple, size)) for size in (0, BIG_BYTES + 1))
        lines.append(f"| {mcpu} | {all} | {few} | {row.emulator.partition(' ')[0]} |")
    lines += ["", f"| Model | {' | '.join(ROWS)} |", f"|---|{'---|' * len(ROWS)}"]
    lines += [f"| {name} | {' | '.join(cell(mcpu, name, found) for mcpu in ROWS)} |" for name in MODELS]
    cells = [cell(mcpu, name, found) for mcpu in ROWS for name in MODELS]
    counts = ", ".join(f"{cells.count(each)} {each}" for each in sorted({*cells}))
    return "\n".join([*lines, "", f"{len(cells)} cases: {counts}."])


if __name__ == "__main__":
    print(table(outcomes(Path(sys.argv[1]))))
