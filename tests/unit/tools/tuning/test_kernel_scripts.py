"""Schedules of kernels as scripts: a search finds a `sched.script`, whose text gives the schedules again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from stepwell.dialects.sched_attributes import is_script
from stepwell.dialects.schedule_script import RewriteOp
from stepwell.dialects.schedule_script.files import script_of_text
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.tuning.candidate import Candidate, candidate_of
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.measuring import inputs_for
from stepwell.tools.tuning.rewrites import changes_of, prefetches_of
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task, extract_tasks
from tests.unit.tools.tuning.test_space import program

PRODUCT = """
func.func @main(%x: tensor<20x300xf32> {graph.name = "x"}, %w: tensor<300x1000xf32> {graph.name = "w"})
    -> (tensor<20x1000xf32> {graph.name = "y"}) {
  %y = graph.matmul %x, %w : (tensor<20x300xf32>, tensor<300x1000xf32>) -> tensor<20x1000xf32>
  func.return %y : tensor<20x1000xf32>
}
"""
SUM = """
func.func @main(%x: tensor<3x4096xf32> {graph.name = "x"}) -> (tensor<3xf32> {graph.name = "y"}) {
  %y = graph.reduce %x kind "sum" axes [1] keep_dims false : tensor<3x4096xf32> -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
"""


@pytest.fixture(name="runner")
def _runner() -> Iterator[LocalRunner]:
    yield (made := LocalRunner(clock="model"))
    made.close()


def task_of(text: str) -> Task:
    (task,) = extract_tasks(program(text), CompileOptions()).tasks
    return task


def test_candidates_are_found_again_from_their_scripts(runner: LocalRunner) -> None:
    task = task_of(PRODUCT)
    choice = runner.choose(task, Candidate())
    space = Space(choice.forms, choice.tiles)
    near = [each for each in space.neighbours(space.default) if not each.rewrite]
    choices = [choice, *(runner.choose(task, each) for each in near[:: max(1, len(near) // 8)])]
    scripts = [each.script for each in choices]
    assert all(is_script(script) for script in scripts)
    assert runner.read(task, scripts) == [each.candidate for each in choices]
    again = runner.choose(task, candidate_of(scripts[-1]))
    assert again.script == scripts[-1] and again.candidate == choices[-1].candidate
    assert runner.build(again.script).candidate == again.candidate
    assert runner.read(task, [scripts[0].replace("linalg.", "linalg.no_"), "sched.script @s"]) == [None, None]
    with pytest.raises(StepwellError, match="has no stage") as refused:
        runner.choose(task, candidate_of(scripts[0].replace("linalg.", "linalg.no_")))
    assert refused.value.code == "illegal-schedule"


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["rfactor", "stage", "prefetch"])
def test_changed_kernels_are_scripts_and_compute_the_same(kind: str, runner: LocalRunner) -> None:
    task = task_of(SUM if kind == "rfactor" else PRODUCT)
    choice = runner.choose(task, Candidate())
    space = Space(choice.forms, choice.tiles)
    changed = [each for each in space.neighbours(space.default) if each.sketch == kind]
    assert changed
    inputs = inputs_for(task, 0)
    wanted = task.expected(inputs[0], task.cases[0])
    for each in changed[:2]:
        found = runner.choose(task, each)
        rewrites = [step for step in script_of_text(found.script).steps if isinstance(step, RewriteOp)]
        assert bool(rewrites) == (kind != "prefetch") and ("sched.prefetch" in found.script) == (
            kind == "prefetch"
        )
        built = runner.build(found.script)
        again = runner.build(runner.choose(task, candidate_of(found.script)).script)
        assert (again.script, again.code) == (built.script, built.code)
        if wanted is not None:
            (result,) = runner.check(task, built, 0, inputs)
            assert np.allclose(result[0], wanted[0], 1e-4, 1e-4)
    assert not list(space.neighbours(changed[0]))  # other ops, which this space does not know


def test_a_prefetch_names_its_input(runner: LocalRunner) -> None:
    """The first of two inputs, although both have no names in a database."""
    task = task_of(PRODUCT.replace("20x", "2000x"))
    space_of = runner.choose(task, Candidate())
    texts = [text for _, text in prefetches_of(space_of.tiles) if '"%0"' in text]
    found = runner.choose(task, Candidate(rewrite=texts[0]))
    assert "sched.prefetch" in found.script and '"%0"' in found.script


def test_what_pays_decides_which_changes_there_are(runner: LocalRunner) -> None:
    (op,) = [each for each in runner.choose(task_of(SUM), Candidate()).tiles if not all(each.parallel)]
    assert {kind for kind, _ in changes_of([op])} == {"rfactor"}
    assert not list(changes_of([replace(op, extents=(3, 200))]))  # a short sum
    assert not list(changes_of([replace(op, extents=(5000, 4096))]))  # many results
    assert not list(prefetches_of([op]))  # 60 KB are in a cache
