"""The op table of a dialect: signatures by name, from a file beside the dialect, read when first used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from stepwell.dialects.foreign.op_class import ForeignOp, make_op_class
from stepwell.dialects.foreign.signature import Signature, parse_signature


class OpTable:
    """The foreign ops of a dialect."""

    def __init__(self, dialect: str, path: Path):
        self.dialect, self._path = dialect, path
        self._classes: dict[str, type[ForeignOp]] = {}

    @cached_property
    def _lines(self) -> dict[str, str]:
        """The lines by the name of their op."""
        lines = self._path.read_text(encoding="utf-8").splitlines()
        return {line.partition("(")[0]: line for line in lines if line and not line.startswith("#")}

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def signature(self, name: str) -> Signature:
        """The signature of an op. Raises: KeyError for an unknown name."""
        return self.op_class(name).SIGNATURE

    def op_class(self, name: str) -> type[ForeignOp]:
        """The class of an op, by its name in the framework. Raises: KeyError for an unknown name."""
        if (found := self._classes.get(name)) is None:
            signature = parse_signature(self._lines[name])
            found = self._classes[name] = make_op_class(self.dialect, signature)
        return found

    def found(self, op_name: str) -> type[ForeignOp] | None:
        """The class of an op by its name in the IR (`torch.aten.add.Tensor`); None for an unknown one."""
        name = op_name.removeprefix(f"{self.dialect}.")
        return self.op_class(name) if name in self else None

    def op_classes(self) -> list[type[ForeignOp]]:
        """All classes."""
        return [self.op_class(name) for name in self]
