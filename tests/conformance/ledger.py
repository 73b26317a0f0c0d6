"""The ledgers: what came of each case when it was last recorded. What passed once may not fail later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.conformance.outcome import Outcome

_COLUMNS = 3
WRITTEN = "written"
"""The mode of cases that `to-onnx` writes."""


def ledger_path(mode: str = "") -> Path:
    """The file of the cases as they are, of those in a mode of `dynamic.MODES`, or `WRITTEN`."""
    return Path(__file__).with_name(f"ledger_{mode}.txt" if mode else "ledger.txt")


def read_ledger(mode: str = "") -> dict[str, Outcome]:
    """The recorded outcomes by name, in order."""
    path = ledger_path(mode)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [line.split("\t", _COLUMNS - 1) for line in lines if line]
    return {row[0]: Outcome(row[0], row[1], row[2] if len(row) == _COLUMNS else "") for row in rows}


def write_ledger(names: Iterable[str], outcomes: Mapping[str, Outcome], mode: str = "") -> None:
    """Record outcomes, in the order of `names`; those without one are left out."""
    rows = [outcomes[name] for name in names if name in outcomes]
    text = "".join("\t".join(filter(None, (o.name, o.status, o.reason))) + "\n" for o in rows)
    ledger_path(mode).write_text(text, encoding="utf-8")


def losses(recorded: Mapping[str, Outcome], found: Iterable[Outcome]) -> list[str]:
    """Cases that passed once and fail now, and those that take the process with them, in words."""
    lost: list[str] = []
    for outcome in found:
        before = recorded.get(outcome.name)
        if outcome.passed or (outcome.status != "crash" and (before is None or not before.passed)):
            continue
        once = f" (was {before.status})" if before is not None else ""
        lost.append(f"{outcome.name}: {outcome.status}{once}: {outcome.reason}")
    return lost
