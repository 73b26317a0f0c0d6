"""The race check on our own kernels, one barrier taken out, against an enumeration of all accesses."""

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import gpu
from stepwell.lowering.interpret.lanes import launch, memory
from stepwell.runtime.errors import StepwellError
from tests.support.devices.gpu_kernels import Case, ProductCase, RowCase, run
from tests.support.samples import examples

PRODUCTS = st.builds(
    ProductCase,
    st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 18)),
    st.sampled_from([(8, 8, 8), (8, 16, 4), (16, 8, 8)]),
    st.sampled_from([(1, 1), (2, 2), (4, 4), (1, 4)]),
    st.integers(1, 2),
    st.booleans(),
)
FRAGMENTS = st.builds(
    ProductCase,
    st.tuples(*[st.integers(1, 18)] * 3),
    st.just((16, 16, 8)),
    st.just((16, 8)),
    st.integers(1, 2),
    st.booleans(),
    st.just(3),
)
ROWS = st.builds(RowCase, st.integers(1, 4), st.integers(1, 40), st.sampled_from([1, 2, 8, 32])) | st.builds(
    RowCase, st.integers(1, 4), st.integers(1, 80), st.sampled_from([32, 64]), st.just(True)
)


class Recorder:
    """All accesses of memory, in place of the last ones that the check knows."""

    found: Any = {}

    def __init__(self, cells: int, threads: int, *, is_shared_by_blocks: bool):
        self._is_shared = is_shared_by_blocks

    def load(self, op: object, cells: Any, threads: Any, tags: Any) -> None:
        """Note loads."""
        self._note(False, cells, threads, tags)

    def store(self, op: object, cells: Any, threads: Any, tags: Any) -> None:
        """Note stores."""
        self._note(True, cells, threads, tags)

    def _note(self, is_store: bool, *accesses: Any) -> None:
        for cell, thread, tag in zip(*(each.tolist() for each in accesses), strict=True):
            Recorder.found[id(self), cell, tag].add((thread, is_store))


def can_race(case: Case, module: ModuleOp, barrier: int | None, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether two threads access an element between two barriers, one of them storing."""
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "found", defaultdict(set))
        patch.setattr(launch, "Shadow", Recorder)
        patch.setattr(memory, "Shadow", Recorder)
        kept: list[Recorder] = []
        patch.setattr(Recorder, "__init__", lambda self, *a, **k: kept.append(self))  # ids stay unique
        run(without(module, barrier), case.inputs())
        return any(
            any(is_store for _, is_store in accesses) and len({thread for thread, _ in accesses}) > 1
            for accesses in Recorder.found.values()
        )


def without(module: ModuleOp, barrier: int | None) -> ModuleOp:
    """Kernels without one barrier."""
    module = module.clone()
    if barrier is not None:
        barriers = [op for op in module.walk() if isinstance(op, gpu.BarrierOp)]
        Rewriter.erase_op(barriers[barrier % len(barriers)])
    return module


def is_reported(case: Case, module: ModuleOp, barrier: int | None) -> bool:
    """Whether the interpreter reports a race."""
    try:
        run(without(module, barrier), case.inputs())
    except StepwellError as error:
        assert error.code in ("data-race", "uninitialized-read")
        return error.code == "data-race"
    return False


@pytest.mark.sample(3)
@pytest.mark.parametrize("barrier", [0, 1])
@pytest.mark.parametrize(
    "case",
    [ProductCase((5, 4, 9), (4, 8, 4), (1, 2), 2), RowCase(2, 33, 8), RowCase(2, 70, 64, True)],
    ids=["product", "rows", "rows by warps"],
)
def test_a_missing_barrier_is_reported(case: Case, barrier: int) -> None:
    expect_reports(case, barrier)


@pytest.mark.sample(0)
@examples(200)
@given(PRODUCTS | FRAGMENTS | ROWS, st.integers(0, 7))
def test_a_barrier_that_matters_is_missed(case: Case, barrier: int) -> None:
    expect_reports(case, barrier)


def expect_reports(case: Case, barrier: int) -> None:
    """Require a report exactly where the enumeration finds a race."""
    module = case.module()
    assert not is_reported(case, module, None)
    if any(isinstance(op, gpu.BarrierOp) for op in module.walk()):
        with pytest.MonkeyPatch.context() as monkeypatch:
            expected = can_race(case, module, barrier, monkeypatch)
        assert is_reported(case, module, barrier) == expected
