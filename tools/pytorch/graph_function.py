"""A graph of `torch.compile` as a function of tensors, with weights as constants or as arguments."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.fx_graph import Feed, Frozen, GraphCalls, Returned, inverse, read_graph
from stepwell.frontend.torch.tensors import array_of
from stepwell.runtime.files.weights import NumberedWeights
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.pytorch.exchange import tensor_reader, tensor_writer
from stepwell.tools.pytorch.frozen_weights import WeightKeys

Tensors: TypeAlias = Sequence[Any]
_KEPT_MODULES = 8
"""How many sets of weights have constants at once: modules of a class share the graph."""
_MOST_CHANGES = 3
"""After so many changes of the same weights they become arguments, which costs packing at each call."""


@dataclass(frozen=True)
class GraphSource:
    """All that a compilation of a graph needs."""

    module: Any
    """The `GraphModule`."""
    labels: Sequence[str]
    """The names of the inputs."""
    static: Sequence[int]
    """The inputs that may be constants."""
    options: CompileOptions


class GraphFunction:
    """The code of a graph for the weights of each call."""

    def __init__(self, source: GraphSource):
        self._source = source
        self._sets: OrderedDict[int, tuple[WeightKeys, Executable]] = OrderedDict()
        self._changes = 0
        first, *others = self._source.static or [0]
        self._weights_of = itemgetter(first, *(others or [first]))
        """The weights in the arguments; a single one is there twice, so that they are a tuple."""
        self._general: Executable | None = None

    def refresh(self) -> None:
        """Forget the constants: the next call reads all weights again."""
        self._sets.clear()

    def executable(self, arguments: Tensors) -> Executable:
        """The code for these inputs, compiled now if their weights are new. Raises: StepwellError."""
        if self._general is not None:
            return self._general
        if not self._source.static:
            self._general = Executable(self._source, {})
            return self._general
        weights = self._weights_of(arguments)
        found = self._sets.get(id(weights[0]))
        if found is not None and found[0].hold(weights):
            return found[1]
        return self._changed(weights, found)

    def _changed(self, weights: tuple[Any, ...], found: tuple[WeightKeys, Executable] | None) -> Executable:
        """The code for weights that are new, or other than they were."""
        if found is not None and found[0].are_of(weights):
            self._changes += 1
        if self._changes > _MOST_CHANGES:
            self._general = Executable(self._source, {})
            self._sets.clear()
            return self._general
        keys = WeightKeys(weights)
        made = Executable(self._source, dict(zip(self._source.static, weights, strict=False)))
        self._sets = OrderedDict((key, each) for key, each in self._sets.items() if each[0].is_alive)
        self._sets[id(weights[0])] = keys, made
        self._sets.move_to_end(id(weights[0]))
        while len(self._sets) > _KEPT_MODULES:
            self._sets.popitem(last=False)
        return made


class Executable:
    """The code of a graph for certain constants."""

    def __init__(self, source: GraphSource, weights: dict[int, Any]):
        """Raises: StepwellError for what cannot be compiled."""
        ctx = StepwellContext()
        ctx.weights, ctx.target = NumberedWeights(), source.options.description()
        frozen = {
            number: Frozen(source.labels[number], array_of(tensor, source.labels[number]))
            for number, tensor in weights.items()
        }
        module, self._calls = read_graph(source.module, source.labels, frozen, ctx)
        self.model: CompiledModel = compile_model(Program(module, ctx), source.options)
        placeholders = [node for node in source.module.graph.nodes if node.op == "placeholder"]
        self._feeds = [_feeder(feed, placeholders[feed.number], source) for feed in self._calls.feeds]
        writers = [tensor_writer(spec.dtype) for spec in self.model.interface.outputs]
        self._writers = writers
        self._results = [_result(each, self._calls) for each in self._calls.returned]

    def __call__(self, arguments: Tensors) -> list[Any]:
        """The results for all inputs of the graph."""
        arrays = self.model.invoke([feed(arguments) for feed in self._feeds])
        outputs = [write(array) for write, array in zip(self._writers, arrays, strict=False)]
        for number, output in self._calls.written:
            arguments[number].copy_(outputs[output])
        return [result(arguments, outputs) for result in self._results]


def _feeder(feed: Feed, placeholder: Any, source: GraphSource) -> Callable[[Tensors], Array]:
    """A function that gives an input of the module from the inputs of the graph."""
    number = feed.number
    if feed.is_size:
        return lambda arguments: np.empty((int(arguments[number]), 0), np.int8)
    read = tensor_reader(placeholder.meta["val"].dtype, source.labels[number])
    if (order := feed.order) is None:
        return lambda arguments: read(arguments[number])
    return lambda arguments: read(arguments[number]).transpose(order)


def _result(returned: Returned, calls: GraphCalls) -> Callable[[Tensors, Tensors], Any]:
    """A function that gives a result of the graph from its inputs and the outputs of the module."""
    number = returned.number
    match returned.kind:
        case "none":
            return lambda arguments, outputs: None
        case "input":
            return lambda arguments, outputs: arguments[number]
        case "size":
            return _size_result(returned, calls)
        case _ if returned.order is not None:
            order = inverse(returned.order)
            return lambda arguments, outputs: outputs[number].permute(order)
        case _:
            return lambda arguments, outputs: outputs[number]


def _size_result(returned: Returned, calls: GraphCalls) -> Callable[[Tensors, Tensors], int]:
    size = returned.size
    assert size is not None
    if size.is_static:
        return lambda arguments, outputs: size.value

    def evaluated(arguments: Tensors, outputs: Tensors) -> int:
        values = {name: int(arguments[number]) for name, number in calls.sizes.items()}
        for name, (number, axis) in calls.dims.items():
            values.setdefault(name, arguments[number].shape[axis])
        return size.evaluate(values)

    return evaluated
