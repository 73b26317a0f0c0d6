"""Names for the values of an exported graph: the model's names, and fresh ones for values from passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.onnx.marks import VALUES


class Names:
    """
    Unique names of the values of a graph; values of a subgraph have no name from outside either.

    Args: `reserved` are the names of the values in the model, which values without name never get, but
    for those of `outputs`: the names of the graph's outputs by value.
    """

    def __init__(
        self,
        reserved: Iterable[str] = (),
        parent: Names | None = None,
        *,
        outputs: Mapping[SSAValue, str] | None = None,
    ):
        self._parent, self._outputs = parent, outputs or {}
        self._of: dict[SSAValue, str] = {}
        self._reserved = set(reserved)
        self._given: set[str] = set()
        self._inside: set[str] = set()
        """The names in subgraphs so far: a later value around these has none of them either."""

    def _is_given(self, name: str) -> bool:
        """Whether a name is used here, in a subgraph or outside."""
        return name in self._inside or any(name in names._given for names in self._around())

    def _around(self) -> Iterator[Names]:
        """The names of this graph and of those around it."""
        names: Names | None = self
        while names is not None:
            yield names
            names = names._parent

    def fresh(self, base: str) -> str:
        """An unused name."""
        name, number = base, 0
        while self._is_given(name) or any(name in names._reserved for names in self._around()):
            name, number = f"{base}_{number}", number + 1
        self._use(name)
        return name

    def _use(self, name: str) -> None:
        self._given.add(name)
        for names in self._around():
            if names is not self:
                names._inside.add(name)

    def give(self, value: SSAValue, name: str | None) -> str:
        """Name a value: `name` if it is unused, else a fresh name after it or after the value's hint."""
        name = name or self._outputs.get(value)
        if not name or self._is_given(name):
            name = self.fresh(name or value.name_hint or "value")
        self._use(name)
        self._of[value] = name
        return name

    def give_results(self, op: Operation) -> list[str]:
        """Name the results of an op as in the model."""
        names = strings(op.attributes.get(VALUES))
        return [
            self.give(result, names[index] if index < len(names) else None)
            for index, result in enumerate(op.results)
        ]

    def of(self, value: SSAValue) -> str:
        """The name of a value. Raises: KeyError when it has none."""
        if (name := self._of.get(value)) is not None:
            return name
        if self._parent is None:
            raise KeyError(value)
        return self._parent.of(value)

    def all(self) -> Mapping[SSAValue, str]:
        """All names given by this object, by value."""
        return self._of


def strings(attribute: Attribute | None) -> Sequence[str]:
    """The strings of an array attribute; none when it is absent."""
    if not isinstance(attribute, ArrayAttr):
        return ()
    return [cast(StringAttr, value).data for value in cast("ArrayAttr[Attribute]", attribute)]
