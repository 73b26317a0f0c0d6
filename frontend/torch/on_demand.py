"""Decompositions of single calls by torch's own rules, for calls whose arguments their conversion refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation

from stepwell.dialects import torch as dialect
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.build import build_module, symbol_names
from stepwell.frontend.torch.decompositions import decompositions
from stepwell.frontend.torch.fx_nodes import NAME, is_tensor, node_records, record_of, target_name
from stepwell.frontend.torch.records import Input, Output, Ref, TorchProgram
from stepwell.frontend.torch.targets import is_check, is_size, kept
from stepwell.frontend.torch.tensors import array_of, torch_package
from stepwell.runtime.errors import StepwellError


class Decomposer:
    """
    The decompositions of the calls of a program, as `StepwellContext.decompose` gives them.

    A call's own function of simpler operators is traced on the fake tensors of the program's graph.
    """

    def __init__(self, nodes: Iterable[Any], program: TorchProgram, ctx: StepwellContext):
        """Args: `nodes` are the nodes of a graph of torch.fx, `program` its records."""
        self._nodes = {node.name: node for node in nodes if node.op == "call_function"}
        self._symbols, self._ctx = symbol_names(program), ctx

    def __call__(self, op: Operation) -> tuple[ModuleOp, Sequence[int]] | None:
        """
        A module whose `@main` computes a call by simpler operators, and the operand for each argument.

        Returns: None when a call has no decomposition into operators with a conversion, or is another call
        than in the program.
        """
        name = op.attributes.get(dialect.NODE)
        node = self._nodes.get(name.data) if isinstance(name, StringAttr) else None
        if node is None or (operands := self._operands(node, op)) is None:
            return None
        if (traced := _traced(node)) is None:
            return None
        try:
            return self._built(traced), operands
        except StepwellError:  # a constant without elements, an element type that is not supported
            return None

    def _operands(self, node: Any, op: Operation) -> Sequence[int] | None:
        """The number of the operand for each tensor of a call; None for an op that is another call."""
        module = build_module(_one_call(node), self._ctx, self._symbols)
        (main,) = (each for each in module.ops if isinstance(each, FuncOp))
        calls = [each for each in main.body.block.ops if each.attributes.get(dialect.NODE) is not None]
        same = [each for each in calls if each.name == op.name and each.attributes == op.attributes]
        if not same or same[0].properties != op.properties or same[0].result_types != op.result_types:
            return None
        numbers: dict[int, int] = {}
        for number, value in enumerate(same[0].operands):
            if isinstance(value, BlockArgument):
                numbers.setdefault(value.index, number)
        return [numbers[index] for index in range(len(numbers))]

    def _built(self, traced: Any) -> ModuleOp:
        """The module of a traced call; its nodes are known here from now on."""
        placeholders = (each for each in traced.graph.nodes if each.op == "placeholder")
        program = TorchProgram(NAME, inputs=_inputs(placeholders))
        for each in traced.graph.nodes:
            if each.op == "get_attr":
                program.weights[each.name] = ("", array_of(getattr(traced, str(each.target)), each.name))
            elif each.op == "call_function":
                program.nodes += node_records(each)
        for result in _results(traced):
            name = getattr(result, "name", None)
            value = np.zeros(0, np.float32) if name is None else Ref(name)
            program.outputs.append(Output(value, f"result_{len(program.outputs)}"))
        self._nodes |= {each.name: each for each in traced.graph.nodes if each.op == "call_function"}
        return build_module(program, self._ctx, self._symbols)


def _one_call(node: Any) -> TorchProgram:
    """A program of one call of another one, without results."""
    return TorchProgram(NAME, inputs=_inputs(node.all_input_nodes), nodes=list(node_records(node)))


def _inputs(nodes: Iterable[Any]) -> list[Input]:
    """The nodes that are tensors, as inputs; others are sizes."""
    tensors = (each for each in nodes if is_tensor(each.meta.get("val")))
    return [Input(each.name, each.name, record_of(each.meta["val"])) for each in tensors]


def _results(traced: Any) -> Sequence[Any]:
    """The nodes of the results of a traced call; None for a result that is no tensor."""
    (output,) = (node for node in traced.graph.nodes if node.op == "output")
    found = output.args[0]
    return cast("Sequence[Any]", found if isinstance(found, list | tuple) else [found])


def _traced(node: Any) -> Any:
    """
    The graph of a call by simpler operators; its placeholders are the tensors and sizes of the call.

    Returns: None when no rule decomposes the call, when its decomposition needs operators without a
    conversion, or when the decomposition depends on sizes.
    """
    rule = import_module("torch._decomp").decomposition_table.get(node.target)
    table = _table() if rule is None else {**_table(), node.target: rule}
    given = node.all_input_nodes
    values = [each.meta["val"] for each in given]
    mode = import_module("torch._guards").detect_fake_mode(values)
    shapes = getattr(mode, "shape_env", None)
    assumed = _assumptions(shapes)
    try:
        traced = _trace(node, given, values, table, mode)
    except Exception:  # rules raise whatever they meet
        return None
    if _assumptions(shapes) != assumed or not _is_simpler(node, traced):
        return None
    for each in traced.graph.nodes:
        each._rename(f"{node.name}__{each.name}")
    return traced


@cache
def _table() -> Mapping[Any, Any]:
    """Torch's rules for operators without a conversion."""
    return dict(decompositions())


def _trace(
    node: Any, given: Sequence[Any], values: Sequence[Any], table: Mapping[Any, Any], mode: Any
) -> Any:
    """The graph of the operators of a call, traced with the values of its arguments."""
    fx: Any = import_module("torch.fx")
    tracing: Any = import_module("torch.fx.experimental.proxy_tensor")
    dispatch: Any = import_module("torch._dispatch.python")

    def call(*arguments: Any) -> Any:
        known = dict(zip(given, arguments, strict=True))
        args, kwargs = fx.map_arg((node.args, node.kwargs), known.__getitem__)
        return node.target(*args, **kwargs)

    with torch_package().no_grad(), mode or nullcontext(), dispatch.enable_python_dispatcher():
        return tracing.make_fx(call, table, tracing_mode="real")(*values)


def _assumptions(shapes: Any) -> int:
    """The number of assumptions about sizes that were made so far."""
    return 0 if shapes is None else len(shapes.guards) + len(shapes.replacements)


def _is_simpler(node: Any, traced: Any) -> bool:
    """Whether a graph consists of operators with a conversion, and not of the call alone."""
    called = [target_name(each.target) for each in traced.graph.nodes if each.op == "call_function"]
    targets = {name for name in called if name != "_operator.getitem" and not is_size(name)}
    unknown = {name for name in targets - kept() if not is_check(name)}
    return not unknown and str(node.target) not in targets
