"""
ONNX's own test cases, each against what the ledger says of it.

Every operator once and a seeded sample run with every change; all of them are marked slow.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from onnx.backend.test.runner import Runner

from stepwell.backend import StepwellBackend
from tests.conformance.cases import case_names
from tests.conformance.dynamic import MODES
from tests.conformance.ledger import losses, read_ledger
from tests.conformance.process import CaseProcess
from tests.conformance.table import TABLE, page

SAMPLE, DYNAMIC_SAMPLE, SEED = 20, 6, 6
_NETWORKS = ("test_bvlc_alexnet", "test_shufflenet", "test_zfnet512")
"""Whole networks, no operators: `make conformance` runs them, and test_squeezenet is one of the sample."""
_LEDGER = read_ledger()
_DYNAMIC = {mode: read_ledger(mode) for mode in MODES}


def _stem(name: str) -> str:
    """The first word of a case's name: that of its operator, which PyTorch writes as `ReLU`."""
    return re.sub(r"\d+d?$", "", name.split("_")[1]).lower() if name.startswith("test_") else name


def _quick() -> set[str]:
    """One case an operator that passes, and a sample of all."""
    passing = [name for name, outcome in _LEDGER.items() if outcome.passed and name not in _NETWORKS]
    small = [name for name in passing if not name.endswith(("_expanded", "121", "19", "50", "_v1", "_v2"))]
    first = {_stem(name): name for name in reversed(small)}
    return {*first.values(), *random.Random(SEED).sample(passing, min(SAMPLE, len(passing)))}


def _parameters() -> Iterator[object]:
    quick = _quick()
    for name in _LEDGER:
        yield pytest.param(name, marks=[] if name in quick else pytest.mark.slow)


def _dynamic_parameters() -> Iterator[object]:
    for ledger in _DYNAMIC.values():
        passing = [name for name, outcome in ledger.items() if outcome.passed]
        quick = random.Random(SEED).sample(passing, min(DYNAMIC_SAMPLE, len(passing)))
        for name in ledger:
            yield pytest.param(name, marks=[] if name in quick else pytest.mark.slow)


@pytest.fixture(scope="module")
def process() -> Iterator[CaseProcess]:
    """The process that runs the cases."""
    running = CaseProcess()
    yield running
    running.close()


@pytest.mark.parametrize("name", _parameters())
def test_case(name: str, process: CaseProcess) -> None:
    """A case does no worse than the ledger says, and never kills the process."""
    assert losses(_LEDGER, [process.run(name)]) == []


@pytest.mark.parametrize("name", list(_dynamic_parameters()))
def test_dynamic_case(name: str, process: CaseProcess) -> None:
    """A case with symbolic dimensions does no worse than its ledger says."""
    ledger = _DYNAMIC[name.partition("@")[2]]
    assert losses(ledger, [process.run(name)]) == []


def test_ledger_has_every_case_once() -> None:
    """The ledger speaks of the cases that onnx has; `python -m tests.conformance --update` renews it."""
    assert list(_LEDGER) == case_names()


def test_table_is_that_of_the_ledger() -> None:
    """`docs/onnx-support.md` is generated."""
    assert TABLE.read_text(encoding="utf-8") == page(
        _LEDGER.values(), {m: ledger.values() for m, ledger in _DYNAMIC.items()}
    )


def test_the_runner_of_onnx_accepts_the_backend() -> None:
    """ONNX's own runner finds the interface that it asks for, and runs a case with it."""
    tests = Runner(StepwellBackend, __name__).include("^test_relu_cpu$").test_cases
    result = tests["OnnxBackendNodeModelTest"]("test_relu_cpu").run()
    assert result is not None and result.wasSuccessful()
