"""Sets of rewrite patterns, by the class of the op that each matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from inspect import isabstract
from types import ModuleType
from typing import TypeVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects._xdsl import matched_op_types
from stepwell.runtime.plugins import plugin_of

PatternT = TypeVar("PatternT", bound=RewritePattern)


def patterns_in(base: type[PatternT], *modules: ModuleType) -> list[type[PatternT]]:
    """The patterns of a kind that modules define, in order; abstract classes are none."""
    classes = (
        (module, each) for module in modules for each in vars(module).values() if isinstance(each, type)
    )
    own = (each for module, each in classes if each.__module__ == module.__name__ and issubclass(each, base))
    return [each for each in own if not isabstract(each)]


class PatternSet:
    """
    Rewrite patterns by op class, looked up with base classes.

    So a pattern can match a whole family, and a subclass, such as our `arith` ops on vectors, gets the
    patterns of its base. Each pattern is written with `@op_type_rewrite_pattern`, or lists its classes in
    `takes`.
    """

    def __init__(self, patterns: Iterable[RewritePattern]):
        self._patterns = tuple(patterns)
        self._positions = _positions_of(tuple(map(matched_op_types, self._patterns)))
        self._found: dict[type[Operation], tuple[RewritePattern, ...]] = {}

    @property
    def plugin(self) -> str | None:
        """The file of the plugin that defines patterns, if any."""
        files = (plugin_of(type(each)) for each in self._patterns)
        return next((file for file in files if file is not None), None)

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class, the most specific class first, then in the order of the set."""
        if (found := self._found.get(op_type)) is None:
            positions = self._positions.of(op_type)
            found = self._found[op_type] = tuple([self._patterns[position] for position in positions])
        return found


class _Positions:
    """The positions in a set of the patterns for each op class, which sets of equal patterns share."""

    def __init__(self, matched: Sequence[Sequence[type[Operation]]]):
        self._declared: dict[type, list[int]] = {}
        for position, op_types in enumerate(matched):
            for op_type in op_types:
                self._declared.setdefault(op_type, []).append(position)
        self._found: dict[type[Operation], Sequence[int]] = {}

    def of(self, op_type: type[Operation]) -> Sequence[int]:
        """The positions for a class, looked up once: each kernel has sets of its own for the same classes."""
        if (found := self._found.get(op_type)) is None:
            lists = (self._declared.get(base, ()) for base in op_type.__mro__)
            found = self._found[op_type] = [position for positions in lists for position in positions]
        return found


@lru_cache(maxsize=256)
def _positions_of(matched: tuple[tuple[type[Operation], ...], ...]) -> _Positions:
    return _Positions(matched)
