"""`annotate-target`: each op gets the name of the backend that will compute it as an attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.dev.devices import HOST, ON
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph_ir.dissolve import dissolve
from stepwell.dialects.types import Tensor, dims_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count, remark
from stepwell.patterns.backend_tables import Claimant
from stepwell.patterns.groups import blocks_of
from stepwell.runtime.backends import find_backend
from stepwell.runtime.errors import StepwellError

TARGET = "graph.target"
"""Attribute of an op that a backend will compute: the backend's name."""

PASSIVE = (graph.TupleOp, graph.GetOp, graph.ReshapeOp, graph.ExpandDimsOp, graph.SqueezeOp)
"""Ops that compute nothing by themselves: they get the target of their neighbours."""


@dataclass(frozen=True)
class AnnotateTargetPass(FunctionPass):
    """
    Give each op that a backend supports the attribute `graph.target`.

    Of several backends that support an op, the first in the list gets it. A composite belongs to the backend
    with the table that made it. Views and tuples get the target of their operands' ops, else of their users,
    if that backend supports them. Ops with effects, or with a result whose size depends on data, are compiled
    by Stepwell: a composite of a backend's table is inlined then. An op that has a target already keeps it.
    With `by=device` the target is the device of the op, as `place-devices` says; the host has none.

    Class: exact. Source: Relay's AnnotateTarget.
    """

    name = "annotate-target"

    backends: tuple[str, ...] = ()
    """The names of backends, the preferred one first."""
    by: str = ""
    """`device`: the target of an op is the device that has it."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.by not in ("", "device"):
            raise StepwellError("bad-option", None, f"by of annotate-target is device, found {self.by!r}")
        if self.by:
            _follow_devices(func)
            return
        claimants = [cast(Claimant, find_backend(name)) for name in self.backends]
        for block in blocks_of(func):
            for op in list(block.ops):
                if isinstance(op, graph.CompositeOp) and not _is_known_throughout(op):
                    _give_back(op, claimants)
            for op in block.ops:
                if not isinstance(op, PASSIVE):
                    _claim(op, claimants)
            supports = {claimant.name: claimant.supports for claimant in claimants}
            passive = [op for op in block.ops if isinstance(op, PASSIVE) and TARGET not in op.attributes]
            for op in passive:
                _follow(op, [value.owner for value in op.operands], supports)
            for op in reversed(passive):
                _follow(op, [use.operation for result in op.results for use in result.uses], supports)


def _follow_devices(func: FuncOp) -> None:
    """Give each op that another device than the host has this device as its target."""
    for op in func.walk():
        computes = isinstance(op, graph.CompositeOp) or (
            isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE
        )
        if computes and TARGET not in op.attributes:
            on = op.attributes.get(ON)
            device = on.string_value() if isinstance(on, SymbolRefAttr) else HOST
            if device != HOST:
                op.attributes[TARGET] = StringAttr(device)
                count(f"ops for {device}")


def _claim(op: Operation, claimants: Sequence[Claimant]) -> None:
    if TARGET in op.attributes or not _is_computed(op):
        return
    if not _is_known_throughout(op):
        if any(claimant.supports(op) for claimant in claimants):
            remark(op, f"not taken by a backend: the size of a value of {op.name} depends on data")
        return
    for claimant in claimants:
        if _is_row_of(op, claimant) or claimant.supports(op):
            op.attributes[TARGET] = StringAttr(claimant.name)
            count(f"ops for {claimant.name}")
            return


def _is_computed(op: Operation) -> bool:
    """Whether an op computes values without side effects: not structure, but for composites."""
    if not isinstance(op, GraphOp) or not is_side_effect_free(op):
        return False
    return op.KIND is not Kind.STRUCTURE or isinstance(op, graph.CompositeOp)


def _give_back(op: graph.CompositeOp, claimants: Sequence[Claimant]) -> None:
    """Inline a composite of a backend's table whose sizes depend on data, which no backend supports."""
    if TARGET not in op.attributes and any(_is_row_of(op, claimant) for claimant in claimants):
        remark(op, "not taken by a backend: the size of a value depends on data")
        dissolve(op)


def _is_known_throughout(op: Operation) -> bool:
    return all(_is_known(value) for value in (*op.operands, *op.results))


def _is_known(value: SSAValue) -> bool:
    """Whether a value is a tensor whose size follows from the shapes of the inputs."""
    if not isinstance(type := value.type, TensorType):
        return False
    return not any(dim.is_unknown for dim in dims_of(cast(Tensor, type)))


def _is_row_of(op: Operation, claimant: Claimant) -> bool:
    """Whether an op is a composite made by a row of a backend's table of patterns."""
    name = op.attributes.get("pattern")
    if not isinstance(op, graph.CompositeOp) or not isinstance(name, StringAttr):
        return False
    return any(row[0] == name.data for row in claimant.table)


def _follow(
    op: Operation, neighbours: Iterable[Operation | Block], supports: dict[str, Callable[[Operation], bool]]
) -> None:
    """Give a view or tuple the target that all its neighbours have in common, constants aside."""
    if TARGET in op.attributes:
        return
    found = {
        None if isinstance(neighbour, Block) else neighbour.attributes.get(TARGET)
        for neighbour in neighbours
        if not isinstance(neighbour, graph.ConstantOp)
    }
    target = found.pop() if len(found) == 1 else None
    if not isinstance(target, StringAttr):
        return
    if isinstance(op, graph.TupleOp | graph.GetOp):
        # A tuple may not be a partition's result, only its fields may.
        ends = [use.operation for result in op.results for use in result.uses]
        if isinstance(op, graph.TupleOp) and not all(isinstance(end, graph.GetOp) for end in ends):
            return
    elif not supports.get(target.data, lambda _: False)(op):
        return
    op.attributes[TARGET] = target
