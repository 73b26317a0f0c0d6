"""Templates: spaces of decisions, a search over these, and the formula by the best choice."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell import StepwellError, te, tuning
from stepwell.passes import PassContext
from stepwell.tools.records.database import Database
from stepwell.tools.tuning.recheck import usable_trials
from stepwell.tools.tuning.template_space import ExcludedError, Space
from tests.support.samples import whole

SIZES = (24, 32, 16)
ORDERS = 6


@tuning.template("matmul")
def matmul(space: Space, m: int, n: int, k: int) -> tuple[list[te.Tensor], te.Schedule]:
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    s = te.create_schedule(c)
    i, j, r = s[c].loops
    io, ii = s[c].split(i, space.tile("ti", i, levels=2, max_inner=8))
    jo, ji = s[c].split(j, space.tile("tj", j, levels=2, max_inner=16))
    s[c].reorder(*space.order("order", [io, jo, r]), ii, ji)
    if space.choice("vec", [True, False]):
        s[c].vectorize(ji)
    return [a, b], s


@pytest.fixture
def runner() -> Generator[tuning.LocalRunner]:
    yield (made := tuning.LocalRunner(clock="model"))
    made.close()


def test_a_space_lists_its_choices() -> None:
    space = matmul.space(*SIZES)
    assert {name: len(options) for name, options in space.options.items()} == {
        "ti": 5, "tj": 7, "order": ORDERS, "vec": 2,
    }  # fmt: skip
    assert len(space) == 5 * 7 * ORDERS * 2
    assert [space.index(space[n]) for n in range(len(space))] == list(range(len(space)))
    near = list(space.neighbours(17))
    assert len(near) == len(set(near)) == 4 + 6 + ORDERS - 1 + 1
    assert all(sum(space[n][name] != space[17][name] for name in space.options) == 1 for n in near)
    assert space.sample(np.random.default_rng(1)) == space.sample(np.random.default_rng(1))
    with pytest.raises(IndexError):
        space[len(space)]


def test_orders_are_remembered() -> None:
    space = Space()
    space.order("o", ["a", "b", "c"], keep=["a", "c"])
    assert space.options["o"] == [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"]]
    with pytest.raises(ExcludedError):
        space.require(False)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda s: (s.choice("x", [1]), s.choice("x", [1])), "decision 'x': the name is used twice"),
        (lambda s: s.choice("x", []), "decision 'x': there is no option"),
        (lambda s: s.tile("t", None, levels=1), "two levels or more"),
        (lambda s: s.order("o", list(range(9))), "at most 4096"),
    ],
)
def test_a_space_that_is_none(ask: Any, words: str) -> None:
    with pytest.raises(StepwellError) as refused:
        ask(Space())
    assert refused.value.code == "bad-space" and words in str(refused.value)


def test_a_template_without_a_schedule() -> None:
    wrong = tuning.template("wrong")(lambda space: ([], 1))
    with pytest.raises(StepwellError, match="returns inputs and a schedule, found int"):
        wrong.space()


def test_without_a_choice_the_choosers_decide(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch()
    with PassContext() as context:
        built = tuning.build(matmul, SIZES, db=tmp_path / "t.jsonl", threads=1)
    assert any("matmul has no tuned choice" in remark.message for remark in context.remarks)
    x, w = np.ones((24, 16), np.float32), np.ones((16, 32), np.float32)
    np.testing.assert_array_equal(built(x, w), x @ w)


@whole
def test_a_template_is_tuned_and_built(tmp_path: Path, runner: tuning.LocalRunner) -> None:
    files = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    reports = [tuning.tune(matmul, SIZES, db=file, trials=6, runner=runner) for file in files]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sum(reports[0].counts.values()) == 6
    tuning.tune(matmul, SIZES, db=files[0], trials=2, runner=runner)
    trials = [t for t in Database(files[0]).read().trials if not t.confirmed]
    assert len(trials) == len({t.script for t in trials}) == 8
    assert not usable_trials(
        Database(files[0]).read()
    )  # choices are for templates, not for kernels of models
    draw = np.random.default_rng(0)
    x, w = draw.standard_normal((24, 16), np.float32), draw.standard_normal((16, 32), np.float32)
    built: Any = tuning.build(matmul, SIZES, db=files[0], threads=1)
    np.testing.assert_allclose(built(x, w), x @ w, rtol=1e-4, atol=1e-5)
