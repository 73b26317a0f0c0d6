"""Spaces of templates: the decisions that a template asks for, and a choice for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
Choice: TypeAlias = "Mapping[str, int]"
"""The number of the option of each decision."""
Steps: TypeAlias = Callable[["Space"], object]

_MOST_OPTIONS = 1 << 12
_PARTS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)
"""The sizes of inner tiles that are tried."""


class ExcludedError(Exception):
    """A choice that a `require` of the template excludes."""


class Space:
    """
    The decisions of a template, as a function asks for them.

    `len(space)` is the number of choices, `space[i]` one of them, `neighbours(i)` those that differ in a
    decision.
    """

    def __init__(self, choice: Choice | None = None):
        self._choice: Choice = choice or {}
        self.options: dict[str, list[Any]] = {}
        """The options of each decision, in the order in which the template asks."""

    @staticmethod
    def of(steps: Steps) -> Space:
        """The space of a template. Raises: StepwellError `bad-space`, and of the template."""
        space = Space()
        try:
            steps(space)
        except ExcludedError:
            # The first choice is not possible; the decisions up to there are known.
            pass
        return space

    def tile(self, name: str, loop: object, levels: int = 2, max_inner: int = 64) -> list[int | None]:
        """The factors of a split of a loop into parts, the first one open."""
        if levels < 2 or max_inner < 1:
            raise _bad(name, f"a tile has two levels or more and an inner part, found {levels}, {max_inner}")
        sizes = [n for n in _PARTS if n <= max_inner]
        inner: list[list[int]] = [[]]
        for _ in range(levels - 1):
            inner = [[*outer, n] for outer in inner for n in sizes]
        options = [[None, *part] for part in inner if len(part) < 2 or prod(part) <= max_inner * max_inner]
        return self._decided(name, options)

    def choice(self, name: str, options: Sequence[T]) -> T:
        """An option of several."""
        return self._decided(name, list(options))

    def order(self, name: str, loops: Sequence[T], keep: Sequence[T] = ()) -> list[T]:
        """An order of loops, in which those of `keep` stay in theirs; the given order comes first."""
        kept = [loop for loop in loops if loop in keep]
        orders = [
            list(order) for order in permutations(loops) if [loop for loop in order if loop in keep] == kept
        ]
        return self._decided(name, orders)

    def place(self, name: str, places: Sequence[T]) -> T:
        """A place in which a stage is computed."""
        return self._decided(name, list(places))

    def annotate(self, name: str, options: Sequence[T]) -> T:
        """An option of several, such as how a loop runs."""
        return self._decided(name, list(options))

    def require(self, condition: bool) -> None:
        """Exclude choices for which a condition does not hold."""
        if not condition:
            raise ExcludedError

    def _decided(self, name: str, options: list[T]) -> T:
        if name in self.options:
            raise _bad(name, "the name is used twice")
        if not options:
            raise _bad(name, "there is no option")
        if len(options) > _MOST_OPTIONS:
            raise _bad(name, f"there are {len(options)} options, at most {_MOST_OPTIONS}")
        self.options[name] = options
        return options[self._choice.get(name, 0) % len(options)]

    def __len__(self) -> int:
        return prod(len(options) for options in self.options.values())

    def __getitem__(self, index: int) -> dict[str, int]:
        """The choice of a number: the first decision changes slowest."""
        if not 0 <= index < len(self):
            raise IndexError(f"the space has {len(self)} choices, found {index}")
        found: dict[str, int] = {}
        for name, options in reversed(self.options.items()):
            index, found[name] = divmod(index, len(options))
        return dict(reversed(found.items()))

    def index(self, choice: Choice) -> int:
        """The number of a choice."""
        number = 0
        for name, options in self.options.items():
            number = number * len(options) + choice.get(name, 0) % len(options)
        return number

    def sample(self, rng: np.random.Generator) -> int:
        """The number of a random choice."""
        return self.index({name: int(rng.integers(len(each))) for name, each in self.options.items()})

    def neighbours(self, index: int) -> Iterator[int]:
        """The numbers of the choices that differ from one in a decision."""
        choice = self[index]
        for name, options in self.options.items():
            for option in range(len(options)):
                if option != choice[name]:
                    yield self.index({**choice, name: option})


def _bad(name: str, reason: str) -> StepwellError:
    return StepwellError("bad-space", None, f"decision {name!r}: {reason}")
