"""`make frontends`: each of its tests is in a part, and a part that passed is not run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.frontends import __main__ as frontends
from tests.support.imports import ROOT


def test_each_file_is_in_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontends, "models_of_torch", lambda: ["gru"])
    named = {Path(each.partition("::")[0]).name for part in frontends.parts().values() for each in part}
    assert {file.name for file in (ROOT / frontends.TESTS).glob("test_*.py")} <= named
    text = (ROOT / frontends.TESTS / "test_torch_operators.py").read_text(encoding="utf-8")
    assert f"\nSHARDS = {frontends.OPERATOR_SHARDS}\n" in text


def test_a_part_that_passed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = {"a-1": "passed", "a-2": "failed", "b": "skipped"}
    ran: list[str] = []

    def run(arguments: Sequence[str], log: Path) -> str:
        ran.extend(arguments)
        return outcomes[log.stem]

    monkeypatch.setattr(frontends, "parts", lambda: {name: [name] for name in outcomes})
    monkeypatch.setattr(frontends, "run_part", run)
    folder = ["--results", str(tmp_path)]
    assert frontends.main(folder) == 1
    assert "failed: 1 of 3 parts a-2\nskipped: 1 of 3 parts b\n" in capsys.readouterr().out
    outcomes["a-2"] = "passed"
    assert frontends.main(["a", *folder]) == 0
    assert ran == ["a-1", "a-2", "b", "a-2"]
    assert frontends.main(["a", "--shard", "2/2", "--again", *folder]) == 0
    assert ran[4:] == ["a-2"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "text, outcome", [("def test_a(): pass", "passed"), ("def test_a(): assert 0", "failed"), ("", "skipped")]
)
def test_the_outcome_is_that_of_pytest(tmp_path: Path, text: str, outcome: str) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(text)
    assert frontends.run_part([str(file)], tmp_path / "log.txt") == outcome
