"""Choices of level 1 for a whole model: each is compiled and compared with the model as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from stepwell import __version__
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import on_level_1
from stepwell.tools.records.database import Content, Database
from stepwell.tools.records.plans import NODES, alternatives, choices_text, chosen, graph_digest, is_free
from stepwell.tools.records.record import Plan
from stepwell.tools.tuning.graph.node_choices import PLANS, node_plans
from stepwell.tools.tuning.in_model import Comparison
from stepwell.tools.tuning.report import PLAN_IS_USED
from stepwell.tools.tuning.tasks import copy_of

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model


@dataclass(frozen=True)
class Planned:
    """The options of a model with the best plan, and the verdicts on all that were compared."""

    options: CompileOptions
    plans: Sequence[Plan]

    @property
    def notes(self) -> list[str]:
        """A line for each plan."""
        return [
            "{}: {:.2f} ({:.2f}-{:.2f})".format(choices_text(plan.choices), *plan.ratio)
            + (PLAN_IS_USED if plan.is_gain and chosen_by(self.plans) is plan else "")
            for plan in self.plans
        ]


def chosen_by(plans: Sequence[Plan]) -> Plan | None:
    """The plan with the highest lower bound, if it gains."""
    gains = [plan for plan in plans if plan.is_gain]
    return max(gains, key=lambda plan: plan.ratio[1], default=None)


def search_plan(
    model: Model,
    options: CompileOptions,
    threads: int,
    database: Database,
    content: Content,
    seconds_left: Callable[[], float],
) -> Planned:
    """
    Compare the model with each of `alternatives`, and with plans by nodes, and record the ratios.

    Args: `content` is the database's content, whose plans are not measured again; `seconds_left` returns the
    time left for the search, which ends before an alternative that would take longer, judged by those before.
    Raises: StepwellError of the model as it is; one that cannot be compiled in another way is left out.
    """
    bare = replace(options, tuning_db=(os.devnull,))
    compilation = start(copy_of(model), bare)
    level_1 = on_level_1(compilation)
    here = graph_digest(compilation.module), target_digest(compilation.ctx.target), machine_name(), threads
    known = [p for p in content.plans if (p.graph, p.target, p.machine, p.threads) == here]
    left = [each for each in alternatives() if is_free(options, each) and not _is_known(each, known)]
    has_nodes = is_free(options, {NODES: {}}) and not any(NODES in plan.choices for plan in known)
    if not (left or has_nodes) or seconds_left() <= 0:
        return _planned(options, known, level_1)
    begun = monotonic()
    comparison = Comparison(build_image(copy_of(model), bare), threads)
    taken = monotonic() - begun

    def waiting() -> Iterator[Mapping[str, object]]:
        yield from left
        if has_nodes and seconds_left() > PLANS * taken:
            yield from node_plans(model, bare, level_1, threads, lambda: seconds_left() - PLANS * taken)

    try:
        for choices in waiting():
            if seconds_left() <= taken:
                break
            begun = monotonic()
            try:
                ratio = comparison.ratio_of(
                    build_image(copy_of(model), chosen(bare, choices, lambda: level_1))
                )
            except StepwellError:
                continue
            taken = max(taken, monotonic() - begun)
            known.append(Plan(*here, choices, ratio, __version__))
            database.append(known[-1:])
    finally:
        comparison.close()
    return _planned(options, known, level_1)


def _planned(options: CompileOptions, known: Sequence[Plan], level_1: ModuleOp) -> Planned:
    """The options with the best of the plans."""
    best = chosen_by(known)
    return Planned(options if best is None else chosen(options, best.choices, lambda: level_1), known)


def _is_known(choices: Mapping[str, object], plans: Sequence[Plan]) -> bool:
    return any(dict(plan.choices) == dict(choices) for plan in plans)
