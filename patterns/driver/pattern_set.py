"""Sets of rewrite patterns, by the class of the op that each matches."""

from __future__ import annotations

from collections.abc import Iterable
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
        self._declared: dict[type, list[RewritePattern]] = {}
        for pattern in patterns:
            for op_type in matched_op_types(pattern):
                self._declared.setdefault(op_type, []).append(pattern)
        self._found: dict[type[Operation], tuple[RewritePattern, ...]] = {}

    @property
    def plugin(self) -> str | None:
        """The file of the plugin that defines patterns, if any."""
        files = (plugin_of(type(each)) for patterns in self._declared.values() for each in patterns)
        return next((file for file in files if file is not None), None)

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class, the most specific class first, then in the order of the set."""
        if (found := self._found.get(op_type)) is None:
            lists = (self._declared.get(base, ()) for base in op_type.__mro__)
            found = self._found[op_type] = tuple(pattern for patterns in lists for pattern in patterns)
        return found
