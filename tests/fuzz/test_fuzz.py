"""
A seeded sample of the random programs; with `-m fuzz`, all of them: the same as `python -m tests.fuzz KIND`.

What a run of all finds stands in `build/fuzz-KIND.jsonl`; `--resume` of the command goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.process import CaseProcess
from tests.fuzz.__main__ import FINE, KINDS, LIMIT_S, SIZES, main, names_of
from tests.fuzz.process import FOREIGN, SERVER

SAMPLE = {
    "model": range(1),
    "groups": range(2),
    "pass": range(1),
    "file": range(5),
    "artifact": range(6),
    "object": range(2),
    "bytecode": range(20),
    "formula": range(1),
    **dict.fromkeys(FOREIGN, range(3, 5)),
}


@pytest.fixture(scope="module")
def process() -> Iterator[CaseProcess]:
    """The process that runs the cases."""
    running = CaseProcess(LIMIT_S, SERVER)
    yield running
    running.close()


@pytest.mark.parametrize("kind", SAMPLE)
def test_sample(kind: str, process: CaseProcess) -> None:
    """Results as the reference has them, or a named error; never a crash, a hang or a broken promise."""
    outcomes = [process.run(name) for name in names_of(kind, SAMPLE[kind])]
    assert [o for o in outcomes if o.status not in FINE] == []


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
def test_all(kind: str) -> None:
    """All seeds of a kind. Hours: in parts, `python -m tests.fuzz KIND 0:N --shard I/N --resume`."""
    assert main([kind, f"0:{SIZES[kind]}", "--results", f"build/fuzz-{kind}.jsonl"]) == 0
