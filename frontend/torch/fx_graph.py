"""
Graphs of `torch.compile`, as AOTAutograd makes them, as modules of level 0.

Inputs are tensors and sizes. Weights that the caller freezes become constants; values that the graph writes
back into an input are results. A value whose memory has another order of dimensions, such as a transposed
one, enters and leaves in the order of the memory, so that neither side copies it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerType, ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.build import build_module
from stepwell.frontend.torch.fx_nodes import NAME, is_tensor, node_records, record_of, size_of, target_name
from stepwell.frontend.torch.on_demand import Decomposer
from stepwell.frontend.torch.records import Array, Input, Node, Output, Ref, TensorRecord, TorchProgram
from stepwell.frontend.torch.tensors import array_of, torch_package
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Order: TypeAlias = tuple[int, ...]
_COPY = "aten.copy_.default"
_SIZE_ELEMENT = IntegerType(8)


@dataclass(frozen=True)
class Feed:
    """An input of the module: a tensor among the graph's inputs, or a size that no tensor has."""

    number: int
    order: Order | None = None
    """The dimensions from the one with the largest stride on; None for the usual order."""
    is_size: bool = False


@dataclass(frozen=True)
class Returned:
    """A result of the graph."""

    kind: str
    """`output`, of the module; `input`, of the graph, as it is; `size`; `none`."""
    number: int = 0
    order: Order | None = None
    size: Dim | None = None


@dataclass
class GraphCalls:
    """The way from the inputs of a graph to its results, by a module of level 0."""

    feeds: list[Feed]
    returned: list[Returned]
    written: list[tuple[int, int]]
    """The inputs that the graph writes, each with the number of the output that has its new value."""
    sizes: dict[str, int]
    """The inputs that are sizes, by symbol."""
    dims: dict[str, tuple[int, int]]
    """For other symbols an input and a dimension of it that is as long."""


@dataclass(frozen=True)
class Frozen:
    """An input that is a constant: the name of the weight, and its elements."""

    name: str
    array: Array


def read_graph(
    graph_module: Any, labels: Sequence[str], frozen: Mapping[int, Frozen], ctx: StepwellContext
) -> tuple[ModuleOp, GraphCalls]:
    """
    A graph as a module of level 0, and the way to call it.

    Args: `labels` are the names of its inputs for diagnostics; `frozen` has constants by number of the input.
    Raises: StepwellError `unsupported`, `invalid-model`.
    """
    reader = _GraphReader(graph_module, labels, frozen)
    ctx.decompose = Decomposer(graph_module.graph.nodes, reader.record, ctx)
    return build_module(reader.record, ctx), reader.calls


class _GraphReader:
    """The reader of one graph."""

    def __init__(self, graph_module: Any, labels: Sequence[str], frozen: Mapping[int, Frozen]):
        self._module, self._labels, self._frozen = graph_module, labels, frozen
        self.record = TorchProgram(NAME, version=str(torch_package().__version__))
        self.calls = GraphCalls([], [], [], {}, {})
        self._placeholders: dict[str, int] = {}
        self._outputs: dict[str, int] = {}
        written: dict[str, str] = {}
        for node in graph_module.graph.nodes:
            match node.op:
                case "placeholder":
                    self._read_input(node)
                case "get_attr":
                    self._read_constant(node)
                case "call_function" if target_name(node.target) == _COPY:
                    written[node.args[0].name] = node.args[1].name
                case "call_function":
                    self.record.nodes += node_records(node)
                case _:
                    self._read_results(node, written)
        self._read_sizes_without_tensor()

    def _read_input(self, node: Any) -> None:
        number = self._placeholders[node.name] = len(self._placeholders)
        value = node.meta.get("val")
        if not is_tensor(value):
            expression = getattr(getattr(value, "node", None), "expr", None)
            if expression is not None and expression.is_Symbol:
                self.calls.sizes[expression.name] = number
            return
        if (frozen := self._frozen.get(number)) is not None:
            self.record.weights[node.name] = (frozen.name, frozen.array)
            return
        label = self._labels[number] if number < len(self._labels) else node.name
        type, order = record_of(value), order_of(value)
        for axis, dim in enumerate(type.dims):
            for symbol in dim.symbols():
                if dim == Dim.symbol(symbol):
                    self.calls.dims.setdefault(symbol, (number, axis))
        self.calls.feeds.append(Feed(number, order))
        if order is None:
            self.record.inputs.append(Input(node.name, label, type))
            return
        inside = f"{node.name}__memory"
        self.record.inputs.append(Input(inside, label, _ordered(type, order)))
        self.record.nodes.append(_permute(inside, node.name, inverse(order), type))

    def _read_constant(self, node: Any) -> None:
        value: Any = self._module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not is_tensor(value):
            raise StepwellError("unsupported", NAME, f"the graph calls another one, {node.target}")
        self.record.weights[node.name] = (str(node.target), array_of(value, str(node.target)))

    def _read_results(self, node: Any, written: Mapping[str, str]) -> None:
        """The results of the graph; a `copy_` among them is the input that it writes."""
        for name, value in written.items():
            number = self._placeholders[name]
            self.calls.written.append((number, self._output(value)))
        for result in cast("Sequence[Any]", node.args[0]):
            self.calls.returned.append(self._returned(result))

    def _returned(self, result: Any) -> Returned:
        if result is None:
            return Returned("none")
        if isinstance(result, int):
            return Returned("size", size=Dim.of(result))
        value = result.meta.get("val")
        if not is_tensor(value):
            return Returned("size", size=Dim.of(size_of(value)))
        if result.op == "call_function" and target_name(result.target) == _COPY:
            return Returned("input", self._placeholders[result.args[0].name])
        if result.name in self._placeholders:
            return Returned("input", self._placeholders[result.name])
        order = order_of(value)
        if order is None:
            return Returned("output", self._output(result.name))
        inside = f"{result.name}__memory"
        if inside not in self._outputs:
            type = _ordered(record_of(value), order)
            self.record.nodes.append(_permute(result.name, inside, order, type))
        return Returned("output", self._output(inside), order)

    def _output(self, name: str) -> int:
        """The number of the output of the module that is a value."""
        if name not in self._outputs:
            self._outputs[name] = len(self._outputs)
            self.record.outputs.append(Output(Ref(name), f"result_{self._outputs[name]}"))
        return self._outputs[name]

    def _read_sizes_without_tensor(self) -> None:
        """An input without elements for each size that no tensor has as a dimension."""
        for symbol, number in self.calls.sizes.items():
            if symbol not in self.calls.dims:
                type = TensorRecord(_SIZE_ELEMENT, (Dim.symbol(symbol), Dim.of(0)))
                self.record.inputs.append(Input(f"{symbol}__size", f"the size {symbol}", type))
                self.calls.feeds.append(Feed(number, is_size=True))


def order_of(value: Any) -> Order | None:
    """
    The dimensions of a tensor from the largest stride to the smallest, if its memory is dense in this order.

    Returns: None for the usual order, and for a tensor that is not dense in any order, such as a slice.
    """
    sizes, strides = ([_hint(each) for each in numbers] for numbers in (value.shape, value.stride()))
    order = tuple(sorted(range(len(sizes)), key=lambda axis: (-strides[axis], sizes[axis] != 1, axis)))
    long = [axis for axis in order if sizes[axis] != 1]
    if long == sorted(long):
        return None
    step = 1
    for axis in reversed(long):
        if strides[axis] != step:
            return None
        step *= sizes[axis]
    return order


def _hint(size: Any) -> int:
    """The size for which a graph was traced."""
    return size if isinstance(size, int) else int(size.node.hint)


def inverse(order: Order) -> Order:
    """The permutation that undoes another one."""
    return tuple(order.index(axis) for axis in range(len(order)))


def _ordered(type: TensorRecord, order: Order) -> TensorRecord:
    return replace(type, dims=tuple(type.dims[axis] for axis in order))


def _permute(operand: str, result: str, order: Order, type: TensorRecord) -> Node:
    return Node(
        result, "aten.permute.default", {"self": Ref(operand), "dims": list(order)}, ((result, type),)
    )
