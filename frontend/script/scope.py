"""The names of a script while it is parsed: tensors, numbers, indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.ir import Block, SSAValue

from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.frontend.script.accesses import Accesses
from stepwell.frontend.te.expressions import Axis, Dtype, Expr, Operand
from stepwell.frontend.te.scalar_code import ScalarCode, element_named
from stepwell.frontend.te.tensors import Tensor
from stepwell.runtime.dims import Dim


class Variable(Expr):
    """A number that a name has at some point of the script."""

    def __init__(self, name: str, dtype: Dtype):
        super().__init__(dtype)
        self.name = name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Contents:
    """A tensor, and the value of its elements at this point."""

    tensor: Tensor
    value: SSAValue


Local: TypeAlias = "Contents | Operand"


@dataclass
class Scope:
    """The meanings of names at a point, and the block for the code of the next statement."""

    block: Block
    names: dict[str, Local] = field(default_factory=dict[str, Local])
    values: dict[Expr, SSAValue] = field(default_factory=dict[Expr, SSAValue])
    """The values of variables, in the types that these compute in."""
    axes: dict[Axis, SSAValue] = field(default_factory=dict[Axis, SSAValue])
    sizes: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """The values of the symbols of shapes."""
    positive: Mapping[str, Dim] = field(default_factory=dict[str, Dim])
    """Symbols that are at least 1 here, as 1 more than a size."""
    is_certain: bool = True
    """Whether the statements of the block run for all points of the loops around them."""

    accesses: Accesses | None = None
    """The numbers of accesses that code is to check when it runs; None where it leads them inside."""

    def inside(self, *, is_certain: bool | None = None) -> Scope:
        """A scope of a new block inside of the current one."""
        return replace(
            self,
            block=Block(),
            names=dict(self.names),
            values=dict(self.values),
            axes=self.axes.copy(),
            is_certain=self.is_certain if is_certain is None else self.is_certain and is_certain,
        )

    def code(self) -> ScalarCode:
        """The emitter of expressions at the end of the block."""
        tensors = {local.tensor: local.value for local in self.names.values() if isinstance(local, Contents)}
        return ScalarCode(
            *(self.block, self.axes, tensors, self.values, self.positive),
            sizes=self.sizes,
            is_guarded=True,
            number_of=None if self.accesses is None else self.accesses.number_of,
        )

    def define(self, name: str, dtype: Dtype, value: SSAValue) -> None:
        """Give a name a number of a type, by its value in storage."""
        variable = Variable(name, dtype)
        with ImplicitBuilder(self.block):
            self.values[variable] = Scalars(element_named(dtype)).widen(value)
        self.names[name] = variable
