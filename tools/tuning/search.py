"""Search: proposals of candidates, as a function of what was tried and a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.tuning.candidate import Candidate, Tried, is_shared
from stepwell.tools.tuning.cost_model import CostModel
from stepwell.tools.tuning.features import features_of
from stepwell.tools.tuning.optuna_search import proposals
from stepwell.tools.tuning.space import Space

SEARCHES = ("evolve", "random", "grid", "genetic", "optuna")
BATCH = 8
_FIRST = 16
_POPULATION = 32
_RANDOM_SHARE = 0.1
_FIRST_CHANGES, _CHANGE_SHARE = 2, 1 / 16
"""
The first candidates of a kind that changes the kernel, and the share of later moves: they seldom gain.
"""
_POOL = 6
"""Evolution makes so many times the candidates that are proposed; the cost model ranks them."""
_MOST_ATTEMPTS = 40


@dataclass
class Proposer:
    """The candidates to try next of a kernel."""

    space: Space
    target: TargetDescription
    search: str = "evolve"
    model: CostModel | None = None
    """A trained model that ranks; None leaves candidates in the order in which they are made."""

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            message = f"a search is one of {', '.join(SEARCHES)}, found {self.search!r}"
            raise StepwellError("bad-option", None, message)

    def propose(
        self, history: Sequence[Tried], count: int, rng: np.random.Generator, seen: set[object]
    ) -> list[Candidate]:
        """
        New candidates: a function of the history, the seed, and what was proposed before.

        Args: `seen` are the keys of candidates that were proposed or tried; the new ones are added.
        """
        makers = {
            "grid": self._grid,
            "random": lambda: self._random(rng),
            "genetic": lambda: self._evolved(history, rng),
            "evolve": lambda: self._evolved(history, rng),
            "optuna": lambda: proposals(self.space, history, int(rng.integers(1 << 31))),
        }
        begins_near = self.search in ("evolve", "genetic") and len(history) < _FIRST
        first = self._first(rng) if begins_near else iter(())
        found = _new(first, count, seen)
        is_ranked = self.model is not None and self.search == "evolve"
        wanted = (count - len(found)) * (_POOL if is_ranked else 1)
        if wanted:
            found += self._ranked(_new(makers[self.search](), wanted, set(seen)), count - len(found))
        seen.update(candidate.key for candidate in found)
        return found

    def _ranked(self, candidates: list[Candidate], count: int) -> list[Candidate]:
        if self.model is None or len(candidates) <= count:
            return candidates[:count]
        predicted = self.model.predict([features_of(self.space, c, self.target) for c in candidates])
        order = sorted(range(len(candidates)), key=lambda n: (-predicted[n], n))
        return [candidates[n] for n in order[:count]]

    def _grid(self) -> Iterator[Candidate]:
        """All candidates by the number of decisions in which they differ from the chooser's."""
        level, known = [self.space.default], {self.space.default.key}
        while level:
            after: list[Candidate] = []
            for candidate in level:
                for each in self.space.neighbours(candidate):
                    if each.key not in known:
                        known.add(each.key)
                        after.append(each)
                        yield each
            level = after

    def _first(self, rng: np.random.Generator) -> Iterator[Candidate]:
        """Candidates next to the chooser's: each kind of decision in turn."""
        kinds: dict[str, list[Candidate]] = {}
        for candidate in self.space.neighbours(self.space.default):
            kinds.setdefault(candidate.sketch, []).append(candidate)
        queues = [
            list(rng.permutation(len(each)))[: _FIRST_CHANGES if each[0].rewrite else None]
            for each in kinds.values()
        ]
        lists = list(kinds.values())
        while any(queues):
            for queue, candidates in zip(queues, lists, strict=True):
                if queue:
                    yield candidates[int(queue.pop())]

    def _random(self, rng: np.random.Generator) -> Iterator[Candidate]:
        """Candidates some random decisions away from the chooser's."""
        for _ in range(_MOST_ATTEMPTS * BATCH):
            candidate = self.space.default
            for _ in range(int(rng.integers(1, 6))):
                candidate = self._mutated(candidate, rng) or candidate
            yield candidate

    def _evolved(self, history: Sequence[Tried], rng: np.random.Generator) -> Iterator[Candidate]:
        """Candidates of the best ones: a decision changed, or two crossed; some are random."""
        measured = [each for each in history if each.ratio is not None]
        best = sorted(measured, key=lambda each: -(each.ratio or 0.0))[:_POPULATION]
        parents = [self.space.default, *(each.candidate for each in best)]
        weights = np.array([1.0, *((each.ratio or 0.0) for each in best)]) ** 4
        random = self._random(rng)
        for _ in range(_MOST_ATTEMPTS * BATCH):
            if rng.random() < _RANDOM_SHARE:
                yield from islice(random, 1)
                continue
            a, b = (parents[int(n)] for n in rng.choice(len(parents), 2, p=weights / weights.sum()))
            crossed = self._crossed(a, b, rng) if rng.random() < 0.3 else None
            made = crossed or self._mutated(a, rng)
            if made is not None:
                yield made

    def _mutated(self, candidate: Candidate, rng: np.random.Generator) -> Candidate | None:
        """A candidate with one decision changed; None where there is none."""
        kinds: dict[str, list[Candidate]] = {}
        for each in self.space.neighbours(candidate):
            kinds.setdefault(each.sketch, []).append(each)
        changes = [each for each in kinds.values() if each[0].rewrite]
        others = [each for each in kinds.values() if not each[0].rewrite]
        if not kinds:
            return None
        is_change = bool(changes) and (not others or rng.random() < _CHANGE_SHARE)
        chosen = (pool := changes if is_change else others)[int(rng.integers(len(pool)))]
        return chosen[int(rng.integers(len(chosen)))]

    def _crossed(self, a: Candidate, b: Candidate, rng: np.random.Generator) -> Candidate | None:
        """A candidate with the schedules of either of two; None where they are of different ops."""
        if a.forms != b.forms or a.tiles is None or b.tiles is None or len(a.tiles) != len(b.tiles):
            return None
        picks = rng.random(len(a.tiles)) < 0.5
        tiles = tuple(x if pick else y for x, y, pick in zip(a.tiles, b.tiles, picks, strict=True))
        anchors = tuple(each if is_shared(each) else None for each in tiles)
        return Candidate(a.forms, anchors if any(anchors) else tiles, "cross")


def _new(made: Iterator[Candidate], count: int, seen: set[object]) -> list[Candidate]:
    """The first candidates that are not among those seen."""
    found: dict[object, Candidate] = {}
    for candidate in made:
        if len(found) >= count:
            break
        if candidate.key not in seen:
            found.setdefault(candidate.key, candidate)
    return list(found.values())
