"""Names for what passes add to a module: functions and data types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region

from stepwell.dialects import adt


class SymbolNames:
    """Names that no function or data type of a module has, each given once."""

    def __init__(self, module: ModuleOp):
        self._taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp | adt.DataOp)}
        self._numbers = Counter[str]()

    def fresh(self, name: str) -> str:
        """The name itself where it is unused, else the name with a number."""
        if name in self._taken:
            return self.numbered(name)
        self._taken.add(name)
        return name

    def numbered(self, name: str) -> str:
        """An unused name `NAME_0`, `NAME_1`, …; the numbers of a name rise."""
        while True:
            unique = f"{name}_{self._numbers[name]}"
            self._numbers[name] += 1
            if unique not in self._taken:
                self._taken.add(unique)
                return unique


def define_data(
    module: ModuleOp, name: str, constructors: Sequence[tuple[str, Sequence[Attribute]]]
) -> adt.DataOp:
    """Define a data type at the start of a module: its constructors by name, with their fields."""
    body = Region(Block([adt.ConstructorOp(each, fields) for each, fields in constructors]))
    made = adt.DataOp.create(properties={"sym_name": StringAttr(name)}, regions=[body])
    first = module.body.block.first_op
    assert first is not None
    module.body.block.insert_op_before(made, first)
    return made
