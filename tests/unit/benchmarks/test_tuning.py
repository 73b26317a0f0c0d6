"""`benchmarks.tuning`: the order of models, and runs that go on after a failure and after an end."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from benchmarks.cases.movement import MOVEMENT
from benchmarks.tuning import noise, searches
from benchmarks.tuning.__main__ import main
from benchmarks.tuning.before import Gain, gain_over
from benchmarks.tuning.results import Result, Results
from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, REPOSITORY
from stepwell.runtime.errors import StepwellError


def test_models_of_which_much_is_expected_come_first() -> None:
    names = searches.by_value([*F32_MODELS, *QUANTIZED_MODELS])
    assert names[:2] == ["unet_small", "vit_tiny"]
    assert {"bert_base_128", "bert_mini_dyn", "gpt_kv", "bert_mini_dynq"} <= set(names[:6])
    assert len(names) == len(F32_MODELS) + len(QUANTIZED_MODELS)


def test_a_model_that_fails_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def tuned(path: Path, threads: int, folder: Path, seconds: float, before: object) -> Result:
        asked.append(path.stem)
        if path.stem == "bad" and len(asked) < 3:
            raise StepwellError("no-file", str(path), "there is none")
        return Result("models", path.stem, threads, seconds, 1.1, 1.2)

    monkeypatch.setattr(searches, "_tuned_model", tuned)
    words = ["models", "--models", "bad.onnx,good.onnx", "--threads", "1", "--folder", str(tmp_path)]
    assert main(words) == 1
    printed = capsys.readouterr()
    assert "2 to tune, about 0.3 h" in printed.out
    assert "failed: bad, threads 1" in printed.out
    assert "there is none" in printed.err
    assert main(words) == 0  # the one that failed alone
    assert asked == ["bad", "good", "bad"]


def test_an_interrupted_run_prints_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(searches, "_tuned_model", interrupted)
    words = ["models", "--models", "a.onnx", "--threads", "1", "--readme", "--folder", str(tmp_path)]
    assert main(words) == 130
    assert "| What | Found |" in capsys.readouterr().out


def test_runs_of_false_gains_go_on_where_they_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results, turns = Results(tmp_path / "results.jsonl"), iter([0, 1, 0, 0, 0, 0])
    monkeypatch.setattr(noise, "_gains_of_copies", lambda *_: next(turns))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    noise.false_gains(results, tmp_path, 2)
    noise.false_gains(Results(tmp_path / "results.jsonl"), tmp_path, 3)
    found = Results(tmp_path / "results.jsonl").of("noise")
    assert [(row.seconds, row.found) for row in found] == [(3, 1), (3, 0)]
    assert next(turns, None) is None


def test_gains_are_of_blocks_by_medians_and_minima() -> None:
    gain = Gain.of([2.0, 3.0, 9.0], [1.0, 2.0, 3.0])
    assert gain.rounds.median == pytest.approx(2.0) and gain.minima == 2.0
    assert gain.rounds.low <= 2.0 <= gain.rounds.high
    assert "minima 2.00" in str(gain)


@pytest.mark.slow
def test_a_state_is_as_fast_as_itself(tmp_path: Path) -> None:
    """Both states are this one: the process of either compiles a model, and answers blocks of calls."""
    case = next(case for case in MOVEMENT if case.name.startswith("transpose"))
    onnx.save(case.model(), str(tmp_path / "m.onnx"))
    for of_kernels in (False, True):
        gain = gain_over(
            REPOSITORY, tmp_path / "m.onnx", 1, {}, list(case.feeds().values()), of_kernels=of_kernels
        )
        assert 0.3 < gain.rounds.median < 3.0 and gain.minima > 0
