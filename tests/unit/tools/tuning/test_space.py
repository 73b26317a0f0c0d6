"""The space of a kernel: blocks of a sum for caches, and candidates as values of JSON and as scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from stepwell import tuning
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import Schedule
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.tuning import sketches
from stepwell.tools.tuning.candidate import Candidate, TiledOp, register_level, schedules_from
from stepwell.tools.tuning.features import FEATURES, features_of
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.measuring import inputs_for
from stepwell.tools.tuning.space import Space, schedules_near
from stepwell.tools.tuning.suggest import decisions_between
from stepwell.tools.tuning.tasks import Task, extract_tasks

_PRODUCT = """
func.func @main(%x: tensor<20x300xf32> {graph.name = "x"}, %w: tensor<300x128xf32> {graph.name = "w"})
    -> (tensor<20x128xf32> {graph.name = "y"}) {
  %y = graph.matmul %x, %w : (tensor<20x300xf32>, tensor<300x128xf32>) -> tensor<20x128xf32>
  func.return %y : tensor<20x128xf32>
}
"""


@pytest.fixture(name="runner")
def _runner() -> Iterator[LocalRunner]:
    runner = LocalRunner()
    yield runner
    runner.close()


def program(text: str) -> Program:
    """A program of level 1."""
    ctx = StepwellContext()
    return Program(parse_module(ctx, text), ctx)


def _task(text: str) -> Task:
    return extract_tasks(program(text), CompileOptions()).tasks[-1]


def test_blocks_of_a_sum_are_candidates(runner: LocalRunner) -> None:
    task = _task(_PRODUCT)
    choice = runner.choose(task, Candidate())
    space = Space(choice.forms, choice.tiles)
    blocked = [each for each in space.neighbours(space.default) if each.sketch == "cache"]
    steps = [max(s.tile) for each in blocked for s in each.tiles or () if s is not None and s.inner]
    assert steps == [128, 192, 256]
    again = schedules_from(blocked[0].to_json()["tiles"])
    assert again == blocked[0].tiles
    features = [features_of(space, each, task.target) for each in (space.default, blocked[0])]
    assert len(features[0]) == len(FEATURES) and features[0].tolist() != features[1].tolist()
    # Every move of a candidate in blocks stays in them, or changes the blocks only.
    near = list(space.neighbours(blocked[0]))
    assert {each.sketch for each in near} >= {"cache", "order", "tile"}
    inputs = inputs_for(task, 0)
    wanted = task.expected(inputs[0], task.cases[0])
    assert wanted is not None
    chosen = runner.choose(task, blocked[0])
    (found,) = runner.check(task, runner.build(chosen.script), 0, inputs)
    assert np.allclose(np.asarray(found[0], np.float32), np.asarray(wanted[0], np.float32), 1e-4, 1e-4)
    op, tiles = space.tiles[-1], chosen.candidate.tiles
    assert op.chosen is not None and tiles is not None and (best := tiles[-1]) is not None
    assert register_level(best) == op.chosen
    assert decisions_between(op, op.chosen, best) == ["blocks of the sum outside"]


def test_rules_of_users_add_schedules_to_the_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches, "RULES", {})
    chosen = Schedule((1, 16), parallel=(0,), vectorize=1)
    op = TiledOp((64, 64), (True, True), 16, chosen, 1)

    @tuning.sketch("linalg.generic")
    def fives(op: TiledOp, schedule: Schedule) -> Iterator[Schedule]:
        yield replace(schedule, tile=(5, 16))
        yield schedule  # no candidate: it is known

    assert [made.tile for kind, made in schedules_near(op, chosen) if kind == "fives"] == [(5, 16)]
    assert not any(kind == "fives" for kind, _ in schedules_near(replace(op, name="linalg.fill"), chosen))
    space = Space((), (op,))
    assert any(c.sketch == "fives" for c in space.neighbours(space.default))

    @tuning.sketch("linalg.generic")
    def wrong(op: TiledOp, schedule: Schedule) -> list[Schedule]:
        return [Schedule((1, 2, 3))]

    with pytest.raises(StepwellError, match="sketch wrong gives schedules of 2 loops") as refused:
        schedules_near(op, chosen)
    assert refused.value.code == "bad-space"
    with pytest.raises(StepwellError, match=r"a sketch is for linalg\.generic or linalg\.fill"):
        tuning.sketch("linalg.matmul")
