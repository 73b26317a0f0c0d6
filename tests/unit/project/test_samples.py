"""Samples of cases: the first one of a test runs with every change, those that are marked `whole` never."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.samples import ALL_CASES, leave_out, repetitions, whole


def left_out(*marked: tuple[str, list[pytest.MarkDecorator]]) -> list[str]:
    """The names of those tests that are marked as slow."""
    items: list[Any] = [
        SimpleNamespace(
            nodeid=name, slow=[], iter_markers=lambda _, marks=marks: [each.mark for each in marks]
        )
        for name, marks in marked
    ]
    for item in items:
        item.add_marker = item.slow.append
    leave_out(cast("list[pytest.Item]", items))
    return [item.nodeid for item in items if item.slow]


def test_the_first_case_and_one_in_n_of_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALL_CASES, raising=False)
    cases = [(f"t[{i}]", [pytest.mark.sample(5)]) for i in range(1000)]
    found = left_out(*cases)
    assert "t[0]" not in found and 700 < len(found) < 900
    assert left_out(*cases, ("t[new]", [pytest.mark.sample(5)]))[: len(found)] == found
    assert left_out(("t[0]", [pytest.mark.sample(5), whole]), ("u", [whole]), ("v", [])) == ["t[0]", "u"]
    assert left_out(("t", [pytest.mark.sample])) == []
    assert repetitions(100) == 10 and repetitions(5) == 3


def test_all_cases_run_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALL_CASES, "1")
    assert left_out(("t", [whole])) == [] and repetitions(100) == 100
