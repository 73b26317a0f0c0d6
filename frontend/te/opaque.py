"""Stages that no formula says: loops that carry tensors, loop scripts, functions of the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.formula import argument_type, sizes_attr
from stepwell.dialects.types import tensor_type
from stepwell.frontend.te.expressions import Dtype
from stepwell.frontend.te.scalar_code import element_named
from stepwell.frontend.te.tensors import Stage, Tensor
from stepwell.runtime.dims import Dim


class OpaqueStage(Stage, ABC):
    """A computation of tensors that is a whole op, not a formula for an element."""

    def __init__(
        self, name: str, reads: Sequence[Tensor], results: Sequence[tuple[tuple[Dim, ...], Dtype]], where: str
    ):
        super().__init__(name, (), (), None, where)
        self.reads = tuple(dict.fromkeys(reads))
        self.outputs = tuple(Tensor("", dims, dtype, self) for dims, dtype in results)
        self.rename(name)

    @abstractmethod
    def op(self, values: Mapping[Tensor, SSAValue]) -> Operation:
        """The op, whose first results are the tensors in order."""


class NestStage(OpaqueStage):
    """A computation by ops of level 2, which are one kernel."""

    @abstractmethod
    def fill(
        self, block: Block, tensors: Mapping[Tensor, SSAValue], sizes: Mapping[str, SSAValue]
    ) -> Sequence[SSAValue]:
        """Emit the ops at the end of a block; returns the results."""

    @property
    def symbols(self) -> list[str]:
        """The names of the sizes that tensors read or computed have."""
        dims = [dim for tensor in (*self.reads, *self.outputs) for dim in tensor.dims]
        return sorted({name for dim in dims for name in dim.symbols()})

    def op(self, values: Mapping[Tensor, SSAValue]) -> graph.NestOp:
        names = self.symbols
        types = [plain_type(tensor) for tensor in self.reads]
        block = Block(arg_types=[*types, *[IndexType()] * len(names)])
        for argument, name in zip(block.args, [*(tensor.name for tensor in self.reads), *names], strict=True):
            argument.name_hint = name if name.isidentifier() else None
        tensors = dict(zip(self.reads, block.args, strict=False))
        sizes = dict(zip(names, block.args[len(types) :], strict=True))
        block.add_op(graph.YieldOp(self.fill(block, tensors, sizes)))
        results = [(element_named(tensor.dtype), tensor.dims) for tensor in self.outputs]
        inputs = [values[tensor] for tensor in self.reads]
        return graph.NestOp(
            self.name, inputs, [tensor.dims for tensor in self.reads], names, results, Region(block)
        )


def plain_type(tensor: Tensor) -> Attribute:
    """The level-2 type of a tensor."""
    return argument_type(tensor_type(element_named(tensor.dtype), tensor.dims), sizes_attr(tensor.dims))
