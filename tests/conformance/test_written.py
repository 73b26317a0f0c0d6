"""
ONNX's cases of single operators, written by way of level 1 and run by another engine, against their ledger.

A seeded sample runs with every change; `make conformance` runs all cases.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.conformance.cases import case_named
from tests.conformance.dynamic import MODES
from tests.conformance.ledger import WRITTEN, losses, read_ledger
from tests.conformance.outcome import FOREIGN
from tests.conformance.written import run_written

SAMPLE, SEED = 8, 4
MOST_REFUSED = 100
"""They have element types that opset 21 lacks, random numbers, bits of numbers."""
_LEDGER = read_ledger(WRITTEN)


def _sample() -> Iterator[str]:
    passing = [name for name, outcome in _LEDGER.items() if outcome.passed and not name.endswith("_expanded")]
    quick = random.Random(SEED).sample(passing, SAMPLE)
    return (name for name in _LEDGER if name in quick)


@pytest.mark.parametrize("name", list(_sample()))
def test_a_written_case_computes_the_same(name: str) -> None:
    assert losses(_LEDGER, [run_written(case_named(name))]) == []


def test_the_ledger_has_every_case_that_passes() -> None:
    """All that we read is written or refused by name: no other result is recorded."""
    assert list(_LEDGER) == [name.partition("@")[0] for name in read_ledger(MODES[0])]
    refused = [outcome for outcome in _LEDGER.values() if not outcome.passed]
    assert all(outcome.status == "error" and "unsupported" in outcome.reason for outcome in refused), refused
    assert len(refused) <= MOST_REFUSED
    assert sum(outcome.status == FOREIGN for outcome in _LEDGER.values()) > 1_600
