"""Values of the model in the program: the op that has each node's output after a pass, or why none has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.locations import node_name, node_names
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.frontend.graphs import hint_of
from stepwell.lowering.main_to_buffers import VIEWS
from stepwell.passes.instruments import Instrument
from stepwell.runtime.dims import Dim

_VALUES = "onnx.values"
_CONSTANTS = (onnx.ConstantOp, graph.ConstantOp)
_AROUND = (graph.FusedOp, graph.CompositeOp)
"""Ops around others: their results are values that they yield."""


class NodeValue(NamedTuple):
    """A value of the model as it was imported: an output of a node, or an initializer."""

    name: str
    node: str
    op: str
    """The operator, such as `Conv`."""
    number: int
    """The number of the output among those of its node."""
    weight: Attribute | None = None
    """The constant of an initializer, or of a node of constants."""


class LogicalType(NamedTuple):
    """The shape and element type of a value in the model, before passes store it otherwise."""

    dims: tuple[Dim, ...]
    dtype: str

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)


def values_of(main: FuncOp) -> list[NodeValue]:
    """The values of an imported model in its order, those of subgraphs included."""
    return [value for value, _ in results_of(main)]


def results_of(main: FuncOp) -> Iterator[tuple[NodeValue, OpResult]]:
    """The values of an imported model, as `values_of` has them, each with the result that it is."""
    for op in main.body.walk():
        node = node_name(op)
        if not op.results or not node or isinstance(op, _AROUND):
            continue
        names = op.attributes.get(_VALUES)
        texts = [n.data for n in cast("ArrayAttr[StringAttr]", names)] if isinstance(names, ArrayAttr) else []
        for number, result in enumerate(op.results):
            unnamed = node if len(op.results) == 1 else f"{node}:{number}"
            name = texts[number] if number < len(texts) else result.name_hint or unnamed
            if name:
                weight = op.properties.get("value") if isinstance(op, onnx.ConstantOp) else None
                yield NodeValue(name, node, op.name.partition(".")[2], number, weight), result


@dataclass
class _Holders:
    """The ops of a module by the last node, in the model's order, that their location names."""

    results: dict[str, list[SSAValue]] = field(default_factory=dict[str, list[SSAValue]])
    constants: dict[str, list[SSAValue]] = field(default_factory=dict[str, list[SSAValue]])
    into: dict[str, str] = field(default_factory=dict[str, str])
    """By node that another one's op names too: that node."""


class Origins(Instrument):
    """Follows the values of a model through passes; `main` is the function as it was imported."""

    def __init__(self, main: FuncOp):
        self.values = values_of(main)
        self._order: dict[str, int] = {}
        for value in self.values:
            self._order.setdefault(value.node, len(self._order))
        self._outputs: dict[str, list[NodeValue]] = {}
        for value in self.values:
            self._outputs.setdefault(value.node, []).append(value)
        self.gone: dict[str, str] = {}
        """By node without an op: the pass that removed it, as a clause."""
        self.folded: set[str] = set()
        """The nodes that a pass computed, so that their outputs are constants."""
        self.logical: dict[NodeValue, LogicalType] = {}
        self._present = set(self._order)
        self._ops: Mapping[str, Sequence[Operation]] = {}
        """The ops of each node after the last pass."""
        self._lost: set[str] = set()
        """The nodes whose last op went, while one before it, with part of the node's work, stays."""

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        holders = self._holders(module)
        self._lose_halves(holders)
        for node in [n for n in self._order if n in self._present and n not in holders.results]:
            self._present.discard(node)
            if node in holders.constants and step.name in ("fold-constant", "convert-onnx-to-graph"):
                self.folded.add(node)
            into = holders.into.get(node)
            verb = f"folded into {into} by" if into else "removed by"
            self.gone[node] = f"{verb} {step.name}"
        self._present |= holders.results.keys() & self._order.keys()
        for value in self.values:
            if value not in self.logical and (found := self._held(value, holders)) is not None:
                type = logical_type(found)
                if type is not None:
                    self.logical[value] = type

    def _lose_halves(self, holders: _Holders) -> None:
        """
        Notice nodes of which only a part is left, such as a convolution by scaled filters whose bias has been
        added to another node's: earlier ops with the locations of several nodes are not a node's output.
        """
        now = {node: [_maker(result) for result in results] for node, results in holders.results.items()}
        for node, ops in self._ops.items():
            left = now.get(node, [])
            if left and ops[-1] not in left and left[-1] in ops and len(node_names(left[-1].location)) > 1:
                self._lost.add(node)
        for node in self._lost:
            holders.results.pop(node, None)
        self._ops = now

    def located(self, module: ModuleOp) -> Mapping[NodeValue, SSAValue]:
        """Maps each value in a module to the op result or constant."""
        holders = self._holders(module)
        pairs = ((value, self._held(value, holders)) for value in self.values)
        return {value: found for value, found in pairs if found is not None}

    def last_node(self, op: Operation) -> str:
        """The last node, in the model's order, that an op's location names; empty when it names none."""
        return max(node_names(op.location), key=lambda name: self._order.get(name, -1), default="")

    def _holders(self, module: ModuleOp) -> _Holders:
        found = _Holders()
        for op in module.walk():
            if not op.results:
                continue
            names = node_names(op.location)
            last = max(names, key=lambda name: self._order.get(name, -1), default="")
            if not isinstance(op, _AROUND):
                kind = found.constants if isinstance(op, _CONSTANTS) else found.results
                kind.setdefault(last, []).extend(op.results)
                found.into |= {name: last for name in names if name != last}
        return found

    def _held(self, value: NodeValue, holders: _Holders) -> SSAValue | None:
        """The result that is a value, if an op's location says so."""
        results = holders.results.get(value.node, [])
        if value.weight is not None or (not results and value.node in self.folded):
            results = holders.constants.get(value.node, [])
        if (
            not results
            or value.node in self._lost
            or value.node in self.gone
            and value.node not in self._present | self.folded
        ):
            return None
        if len(self._outputs[value.node]) > 1:
            return _numbered(value, self._outputs[value.node], results)
        return results[-1]


def _numbered(value: NodeValue, outputs: Sequence[NodeValue], results: Sequence[SSAValue]) -> SSAValue | None:
    """The result of a node with several outputs: by its name in the IR, else by number."""
    hint = hint_of(value.name)
    if [hint_of(output.name) for output in outputs].count(hint) == 1:
        return next((r for r in reversed(results) if r.name_hint == hint), None)
    return results[value.number] if len(results) == len(outputs) else None


def _maker(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner


def logical_type(value: SSAValue) -> LogicalType | None:
    """The type of a value whose dimensions are all known, maybe by symbols."""
    type = value.type
    if type.name != TensorType.name or is_opaque(type):
        return None
    tensor = cast(Tensor, type)
    dims = dims_of(tensor)
    if any(dim.is_unknown for dim in dims):
        return None
    return LogicalType(tuple(dims), dtype_of(tensor.element_type).name)


def before_views(value: SSAValue) -> Iterator[SSAValue]:
    """A value and the sources of its views, the nearest first."""
    yield value
    while isinstance(owner := value.owner, VIEWS):
        value = owner.operands[0]
        yield value
