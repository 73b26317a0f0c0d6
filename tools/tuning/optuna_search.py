"""Proposals by Optuna's TPE in memory, from the history of trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from math import log
from typing import Any

from stepwell.dialects.sched import Schedule
from stepwell.runtime.packages import needed
from stepwell.tools.tuning.candidate import Candidate, TiledOp, Tried
from stepwell.tools.tuning.space import Space, steps_of, with_step

_MOST_ASKED = 200
_FAILED = -10.0
"""The value of a candidate that failed, far below the log ratio of any that runs."""


def load_optuna() -> Any:
    """Optuna, imported where it is installed. Raises: StepwellError `missing-package`."""
    with needed("--search optuna"):
        return import_module("optuna")


def proposals(space: Space, history: Sequence[Tried], seed: int) -> Iterator[Candidate]:
    """
    The candidates that TPE proposes; each tile size is a categorical parameter of its study.

    Raises: StepwellError `missing-package`.
    """
    optuna = load_optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    options = dict(_options(space))
    if not options:
        return
    choices = {name: optuna.distributions.CategoricalDistribution(steps) for name, steps in options.items()}
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for tried in history:
        params = _decisions(space, tried.candidate)
        if all(params.get(name) in steps for name, steps in options.items()):
            study.add_trial(
                optuna.trial.create_trial(params=params, distributions=choices, value=_value(tried.ratio))
            )
    for _ in range(_MOST_ASKED):
        asked = study.ask(choices)
        candidate = _candidate(space, asked.params)
        if candidate is not None:
            yield candidate
        # Not timed yet: recorded as equal to the default schedule, so that TPE proposes another one next.
        study.tell(asked, _FAILED if candidate is None else 0.0)


def _value(ratio: float | None) -> float:
    return _FAILED if ratio is None or ratio <= 0 else log(ratio)


def _options(space: Space) -> Iterator[tuple[str, list[int]]]:
    """The tile sizes to try for each loop of each op, by the loop's name; the default's is first."""
    for name, op, schedule, loop in _loops(space):
        yield name, [schedule.tile[loop], *steps_of(op, schedule, loop)]


def _loops(space: Space) -> Iterator[tuple[str, TiledOp, Schedule, int]]:
    for number, op in enumerate(space.tiles):
        if op.chosen is not None and op.is_anchor and not op.chosen.form:
            for loop in range(op.rank):
                yield f"{number}.{loop}", op, op.chosen, loop


def _decisions(space: Space, candidate: Candidate) -> dict[str, int]:
    """The tile sizes of a candidate, by the names of the loops."""
    tiles = candidate.tiles or ()
    found: dict[str, int] = {}
    for name, _, chosen, loop in _loops(space):
        number = int(name.partition(".")[0])
        schedule = tiles[number] if number < len(tiles) else None
        found[name] = (schedule or chosen).tile[loop]
    return found


def _candidate(space: Space, decisions: dict[str, int]) -> Candidate | None:
    """The candidate with these tile sizes; None where no schedule has them together."""
    tiles = list(space.default.tiles or ())
    for name, op, _, loop in _loops(space):
        number = int(name.partition(".")[0])
        schedule = tiles[number]
        assert schedule is not None
        if decisions[name] != schedule.tile[loop]:
            tiles[number] = changed = with_step(op, schedule, loop, decisions[name])
            if changed is None:
                return None
    return Candidate(space.default.forms, tuple(tiles), "optuna")
