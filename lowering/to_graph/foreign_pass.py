"""The pass that converts a dialect made from an op table, and the files of its conversions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import weights_of
from stepwell.lowering.to_graph.calls import Conversions
from stepwell.lowering.to_graph.foreign import (
    ForeignLowering,
    ForeignPatterns,
    ForeignWeightLowering,
    refuse_unknown,
    set_result_types,
)
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.errors import describe_location


@dataclass(frozen=True)
class Families:
    """The files that enter conversions into a table, one family of operators each."""

    package: str
    conversions: Conversions
    names: Sequence[str]

    def load(self) -> None:
        """Import all files."""
        for name in self.names:
            import_module(f"{self.package}.{name}")

    def converted(self) -> set[str]:
        """The operators that have a conversion."""
        self.load()
        return set(self.conversions)

    def family_of(self, operator: str) -> str:
        """The file of an operator's conversion."""
        self.load()
        return self.conversions.family(operator)


class ConvertForeignPass(ModulePass):
    """Lower a dialect made from an op table to `graph`; a base class."""

    DIALECT: ClassVar[str]
    FAMILIES: ClassVar[Families]
    LOWERING: ClassVar[type[ForeignLowering]]
    WEIGHTS: ClassVar[type[ForeignWeightLowering]]
    HELP: ClassVar[str]
    """What a user can do about an operator without a conversion."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Refuse operators without a conversion, then convert the others."""
        self.FAMILIES.load()
        refuse_unknown(op, self.FAMILIES.conversions, describe_location, self.HELP)
        convert(op, ForeignPatterns(self.LOWERING(weights_of(ctx)), self.WEIGHTS()), illegal=[self.DIALECT])
        set_result_types(op)
