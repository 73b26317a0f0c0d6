"""`torch.compile(model, backend="stepwell")`: a backend of TorchDynamo on AOTAutograd."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, cast
from weakref import WeakSet

from stepwell.frontend.torch.decompositions import training_decompositions
from stepwell.frontend.torch.fx_nodes import is_tensor, target_name
from stepwell.frontend.torch.targets import is_size
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.log import logger
from stepwell.runtime.warned import warn
from stepwell.tools.driver.options import CompileOptions, options_with
from stepwell.tools.pytorch.graph_function import GraphFunction, GraphSource

_log = logger(__name__)
CompiledGraph = Callable[[list[Any]], list[Any]]
FUNCTIONS: WeakSet[GraphFunction] = WeakSet()
"""The compiled graphs of this process."""


class StepwellWarning(UserWarning):
    """A graph that is run by torch, since it cannot be compiled."""


@dataclass(frozen=True)
class BackendOptions:
    """The options of the backend."""

    compile: CompileOptions
    """
    Those of a compilation. `unsupported` is `torch` unless given: torch runs operators without a conversion,
    and with a warning whole graphs that cannot be compiled.
    """
    freeze: bool = True
    """Whether weights are constants while gradients are off, as long as they do not change."""
    min_ops: int = 8
    """Graphs with fewer operators, and without products or convolutions, are run by torch."""


def dynamo_backend(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, object] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """
    The function of a graph that TorchDynamo captured; the entry point `stepwell` of `torch_dynamo_backends`.

    Args: `options` are fields of `stepwell.CompileOptions`, and `freeze`, `min_ops`; `mode` is there for
    torch, and changes nothing.
    Raises: StepwellError `bad-option`; with `unsupported="error"` the reason for which a graph cannot be
    compiled.
    """
    chosen = backend_options(options or {})
    autograd = import_module("torch._dynamo.backends.common").aot_autograd
    labels = _labels(graph_module)
    compiler = partial(_compiled, chosen, labels, list(example_inputs))
    traced = autograd(
        fw_compiler=partial(compiler, False),
        bw_compiler=partial(compiler, False),
        inference_compiler=partial(compiler, chosen.freeze),
        decompositions=training_decompositions(),
        keep_inference_input_mutations=True,
    )
    try:
        return traced(graph_module, example_inputs)
    except Exception as error:
        if chosen.compile.unsupported == "error" or _is_of_dynamo(error):
            raise
        warn(f"torch runs a graph that AOTAutograd cannot trace: {error}", StepwellWarning)
        return graph_module


def _is_of_dynamo(error: Exception) -> bool:
    """Whether TorchDynamo raises an error to itself, as it does to trace a function once more."""
    return isinstance(error, import_module("torch._dynamo.exc").TorchDynamoException)


def backend_options(options: Mapping[str, object]) -> BackendOptions:
    """The options by name. Raises: StepwellError `bad-option`."""
    own = {name: options[name] for name in ("freeze", "min_ops") if name in options}
    rest = {name: value for name, value in options.items() if name not in own}
    chosen = options_with(CompileOptions(unsupported="torch"), rest, ("freeze", "min_ops"))
    return BackendOptions(chosen, **cast("dict[str, Any]", own))


def refresh(compiled: object = None) -> None:
    """
    Read the weights of compiled modules again at their next call.

    It is needed after writes that torch does not count: `p.data.mul_(2)`, or those through `p.numpy()`.
    Args: `compiled` is what `torch.compile` returned; all compiled modules of the process are refreshed.
    """
    for function in list(FUNCTIONS):
        function.refresh()


def _compiled(
    options: BackendOptions,
    labels: Sequence[str],
    outer: Sequence[Any],
    freeze: bool,
    graph_module: Any,
    inputs: Sequence[Any],
) -> CompiledGraph:
    """The function of a graph that AOTAutograd made, for fake inputs."""
    if _is_small(graph_module, options.min_ops):
        _log(1, "torch runs a graph that has fewer than {} operators, and no product", options.min_ops)
        return _by_torch(graph_module)
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    names = labels if len(labels) == len(placeholders) else [node.name for node in placeholders]
    static = _static_inputs(graph_module, placeholders) if freeze else []
    function = GraphFunction(GraphSource(graph_module, names, static, options.compile))
    eager = _by_torch(graph_module)
    with _real_tensors():
        try:
            if not static:
                function.executable([])
            elif len(outer) == len(placeholders):
                function.executable(outer)
        except StepwellError as error:
            return _given_up(error, options, eager)
    FUNCTIONS.add(function)
    return _boxed(_Call(function, eager, options))


def _boxed(call: CompiledGraph) -> CompiledGraph:
    """A function of the list of its arguments, marked so for AOTAutograd."""

    def boxed(arguments: list[Any]) -> list[Any]:
        return call(arguments)

    cast(Any, boxed)._boxed_call = True
    return boxed


class _Call:
    """A compiled graph as AOTAutograd calls it; torch runs one that fails to compile again."""

    def __init__(self, function: GraphFunction, eager: CompiledGraph, options: BackendOptions):
        self._function: GraphFunction | None = function
        self._eager, self._options = eager, options

    def __call__(self, arguments: list[Any]) -> list[Any]:
        """The results; the list of arguments is emptied, which frees activations early."""
        given = list(arguments)
        arguments.clear()
        if self._function is None:
            return self._eager(given)
        try:
            executable = self._function.executable(given)
        except StepwellError as error:
            self._function = None
            return _given_up(error, self._options, self._eager)(given)
        return executable(given)


def _given_up(error: StepwellError, options: BackendOptions, eager: CompiledGraph) -> CompiledGraph:
    """Torch's own function of a graph, with a warning. Raises: the error, if that is asked for."""
    if options.compile.unsupported == "error":
        raise error
    warn(f"torch runs a graph that cannot be compiled: {error.render()}", StepwellWarning)
    return eager


def _by_torch(graph_module: Any) -> CompiledGraph:
    """A graph run by torch, op by op."""

    def run(arguments: list[Any]) -> list[Any]:
        given = list(arguments)
        arguments.clear()
        return graph_module(*given)

    return _boxed(run)


def _is_small(graph_module: Any, least: int) -> bool:
    """Whether a graph has too few operators to be worth a call, and none that is a product of matrices."""
    names = [target_name(node.target) for node in graph_module.graph.nodes if node.op == "call_function"]
    if any(_PRODUCT.match(name) for name in names):
        return False
    return sum(not is_size(name) and name != "_operator.getitem" for name in names) < least


_PRODUCT = re.compile(
    r"aten\.(addmm|mm|bmm|baddbmm|linear|matmul|_?convolution|conv\d|einsum|lstm|gru|_scaled)"
)


def _static_inputs(graph_module: Any, placeholders: Sequence[Any]) -> list[int]:
    """The inputs that are weights: the same tensors at each call, and not written by the graph."""
    context = import_module("torch._guards").TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    numbers = cast("list[int]", [] if metadata is None else metadata.static_input_indices)
    written = {
        node.args[0].name
        for node in graph_module.graph.nodes
        if node.op == "call_function" and target_name(node.target) == "aten.copy_.default"
    }
    return [
        number
        for number in numbers
        if placeholders[number].name not in written and is_tensor(placeholders[number].meta.get("val"))
    ]


def _real_tensors() -> AbstractContextManager[Any]:
    """A context in which tensors have elements, inside of a trace with fake ones."""
    return import_module("torch._subclasses.fake_tensor").unset_fake_temporarily()


def _labels(graph_module: Any) -> list[str]:
    """Readable names of a graph's inputs: `l.weight` for `L_self_modules_l_parameters_weight_`."""
    return [_readable(node.name) for node in graph_module.graph.nodes if node.op == "placeholder"]


def _readable(name: str) -> str:
    text = re.sub(r"^[Ll]_(self_)?", "", name).strip("_")
    text = re.sub(r"_?(modules|parameters|buffers)_", ".", text)
    return text.strip("._") or name
