"""A dialect of another framework: an op table, constants of the model, operators outside of the table."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from xdsl.ir import Dialect, Operation

from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp
from stepwell.dialects.foreign.table import OpTable


class ForeignDialect:
    """The op classes of a dialect, made when first used."""

    def __init__(
        self,
        name: str,
        table: Path,
        weight: type[ForeignWeightOp],
        operator: type[ForeignOperatorOp],
        *structure: type[Operation],
    ):
        """Args: `structure` has further op classes outside of the table."""
        self.name, self.weight, self.operator = name, weight, operator
        self._structure = (weight, operator, *structure)
        self.table = OpTable(name, table)
        self.node = f"{name}.name"
        """The attribute of an op with the name of its node in the model."""

    def op_class(self, op_name: str) -> type[Operation] | None:
        """The class of an op by its name in the IR; None for an unknown one."""
        found = next((each for each in self._structure if each.name == op_name), None)
        return found or self.table.found(op_name)

    @cached_property
    def dialect(self) -> Dialect:
        """The dialect with all classes."""
        return Dialect(self.name, [*self._structure, *self.table.op_classes()])

    def lazy(self, module: str, title: str) -> Callable[[str], Dialect]:
        """The `__getattr__` of a module with the dialect under a title, made at first use (PEP 562)."""

        def attribute(name: str) -> Dialect:
            if name != title:
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
            return self.dialect

        return attribute
