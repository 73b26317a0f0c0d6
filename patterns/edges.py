"""Graph mode's data: several patterns, the edges between them, and pairs of patterns with equal shapes."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.patterns.nodes import Pattern


@dataclass(frozen=True)
class Edge:
    """A use of `source` by `user`: at operand `index` or any (None); `only` excludes other users."""

    source: Pattern
    user: Pattern
    index: int | None
    only: bool


class GraphPattern:
    """
    Several patterns with edges between them; `with GraphPattern() as graph:` collects those written inside.

    ```python
    with GraphPattern() as graph:
        is_op("graph.matmul") >> is_op("graph.relu")
    ```
    """

    def __init__(self) -> None:
        self.nodes: list[Pattern] = []
        self.edges: list[Edge] = []
        self.same_shapes: list[tuple[Pattern, Pattern]] = []
        self._tokens: list[Token[GraphPattern | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._tokens.pop())

    @staticmethod
    def current() -> GraphPattern:
        """
        The graph pattern of the innermost `with` statement. Raises: StepwellError `bad-pattern` outside of
        one.
        """
        if (current := _CURRENT.get()) is None:
            raise StepwellError(
                "bad-pattern",
                None,
                "an edge is written outside of a graph",
                help="write it in `with GraphPattern():`",
            )
        return current

    def add(self, *patterns: Pattern) -> None:
        """Add patterns, each of which must match some node, even without edges."""
        for pattern in patterns:
            if pattern not in self.nodes:
                self.nodes.append(pattern)

    def add_edge(self, source: Pattern, user: Pattern, index: int | None = None, only: bool = False) -> None:
        """Add an edge: `user` uses `source`."""
        self.add(source, user)
        self.edges.append(Edge(source, user, index, only))

    def add_same_shape(self, first: Pattern, second: Pattern) -> None:
        """Require two patterns to match tensors of the same shape."""
        self.add(first, second)
        self.same_shapes.append((first, second))


_CURRENT: ContextVar[GraphPattern | None] = ContextVar("stepwell_graph_pattern", default=None)
