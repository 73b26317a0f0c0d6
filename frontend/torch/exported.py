"""PyTorch programs in memory: an exported one, or a module, which is exported first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.types import element_of
from stepwell.frontend.torch.build import build_module
from stepwell.frontend.torch.export import exported_program
from stepwell.frontend.torch.expressions import UnknownExpression, combined
from stepwell.frontend.torch.records import Input, Node, Output, Ref, TensorRecord, TorchProgram
from stepwell.frontend.torch.stack import module_text, user_line
from stepwell.frontend.torch.targets import LEFT_OUT_ARGUMENTS, is_check, is_size, kept
from stepwell.frontend.torch.tensors import array_of, dtype_name, torch_package
from stepwell.frontend.torch.trees import input_names, output_names, tree_of_spec
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import dtype_from_name

NAME = "<torch program>"


def read_module(
    module: Any, ctx: StepwellContext, example_inputs: object, dynamic_shapes: object = None
) -> ModuleOp:
    """
    A PyTorch module as a module of level 0, for inputs like the examples.

    Args: `example_inputs` are the arguments of `forward`, a tuple, or a dictionary of those by name;
    `dynamic_shapes` are those of `torch.export.export`, or names of sizes: `{"x": {0: "N"}}`.
    Raises: StepwellError `export-failed` with torch's message; `missing-package`.
    """
    program, names = exported_program(module, example_inputs, dynamic_shapes)
    return read_torch(program, ctx, names)


def read_torch(program: Any, ctx: StepwellContext, symbol_names: Mapping[str, str] | None = None) -> ModuleOp:
    """
    An exported program (`torch.export.ExportedProgram`) as a module of level 0, which shares its weights.

    Args: `symbol_names` are the user's names of the program's symbols.
    Raises: StepwellError `unsupported` for values that are no dense tensors in memory.
    """
    torch_package()
    decomposed = program.run_decompositions(decompositions())
    record = _Reader(decomposed).program()
    record.symbol_names = dict(symbol_names or {})
    return build_module(record, ctx)


def decompositions() -> Mapping[Any, Any]:
    """Torch's rules that write operators as simpler ones, but for those with a conversion of their own."""
    torch = torch_package()
    table = torch.export.default_decompositions()
    for name in kept():
        library, packet, overload = name.split(".")
        op = getattr(getattr(getattr(torch.ops, library), packet, None), overload, None)
        if op is not None:
            table.pop(op, None)
    return table


class _Reader:
    """The reader of one program."""

    def __init__(self, program: Any):
        self._program = program
        self._signature = program.graph_signature
        call = program.module_call_graph[0].signature
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        if call is not None:
            self._inputs = input_names(tree_of_spec(call.in_spec), call.forward_arg_names or [])
            self._outputs = output_names(tree_of_spec(call.out_spec))

    def program(self) -> TorchProgram:
        """The whole program as records."""
        record = TorchProgram(NAME, version=str(torch_package().__version__))
        nodes = {node.name: node for node in self._program.graph.nodes}
        self._read_inputs(record, nodes)
        for node in nodes.values():
            if node.op == "call_function":
                record.nodes += self._node(node)
        self._read_outputs(record)
        for symbol, bounds in self._program.range_constraints.items():
            record.ranges[str(symbol)] = (_bound(bounds.lower) or 0, _bound(bounds.upper))
        return record

    def _read_inputs(self, record: TorchProgram, nodes: Mapping[str, Any]) -> None:
        changed = set(self._signature.buffers_to_mutate.values())
        labels = iter(self._inputs)
        for spec in self._signature.input_specs:
            kind, name = spec.kind.name, spec.arg.name
            if kind == "USER_INPUT":
                label = next(labels, name)
                value = nodes[name].meta.get("val") if name in nodes else None
                if _is_tensor(value):
                    record.inputs.append(Input(name, label, _record(value)))
            elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                array = array_of(self._tensor(spec.target), spec.target)
                if spec.target in changed:
                    type = _record(nodes[name].meta["val"])
                    record.inputs.append(Input(name, spec.target, type, spec.target, array))
                else:
                    record.weights[name] = (spec.target, array)

    def _tensor(self, name: str) -> Any:
        """A parameter, buffer or constant of the program."""
        for store in (self._program.state_dict, self._program.constants):
            if name in store:
                return store[name]
        raise StepwellError("undefined-value", NAME, f"the program has no tensor {name!r}")

    def _read_outputs(self, record: TorchProgram) -> None:
        labels = iter(self._outputs)
        for spec in self._signature.output_specs:
            kind = spec.kind.name
            if kind == "BUFFER_MUTATION":
                record.outputs.append(Output(Ref(spec.arg.name), "", spec.target))
            elif kind == "USER_OUTPUT":
                label = next(labels, f"output_{len(record.outputs)}")
                is_value = type(spec.arg).__name__ == "TensorArgument"
                record.outputs.append(Output(Ref(spec.arg.name) if is_value else None, label))
            else:
                message = f"a program with results of kind {kind} is not supported"
                raise StepwellError("unsupported", NAME, message)

    def _node(self, node: Any) -> Iterable[Node]:
        target = _target(node.target)
        if target == "_operator.getitem" or is_size(target) or is_check(target):
            return
        value = node.meta.get("val")
        if not _is_tensor(value) and not isinstance(value, list | tuple):
            if value is None:
                return
            raise StepwellError("unsupported", NAME, f"node {node.name!r} makes a {type(value).__name__}")
        parts = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None
        if parts is None:
            outputs = [(node.name, _record(value))]
        else:
            names = _names_of_parts(node, len(parts))
            outputs = [(name, _record(part)) for name, part in zip(names, parts, strict=True)]
        names = [argument.name for argument in getattr(node.target, "_schema", _NoSchema).arguments]
        given = (
            dict(zip(names, node.args, strict=False))
            if names
            else {f"a{i}": a for i, a in enumerate(node.args)}
        )
        given |= node.kwargs
        arguments = {k: _argument(v) for k, v in given.items() if k not in LEFT_OUT_ARGUMENTS}
        module = _module_of(node.meta.get("nn_module_stack"))
        file, line = user_line(node.meta.get("stack_trace") or "")
        yield Node(node.name, target, arguments, tuple(outputs), module, file, line)


def _module_of(stack: Any) -> str:
    """The innermost module of a stack (key: path and class), as text; empty for a node without one."""
    key, entry = next(reversed(stack.items())) if stack else ("", ("", ""))
    path, kind = entry
    if str(key).startswith("_empty"):
        return ""
    return module_text(path, kind if isinstance(kind, str) else kind.__qualname__)


class _NoSchema:
    arguments: Sequence[Any] = ()


def _target(target: Any) -> str:
    """The name of an operator: `aten.add.Tensor`, or that of a Python function."""
    if hasattr(target, "_schema"):
        return str(target)
    return f"{target.__module__}.{target.__name__}"


def _names_of_parts(node: Any, count: int) -> list[str]:
    """The names of several results of a call, from the nodes that take one each."""
    names = [f"{node.name}__{i}" for i in range(count)]
    for user in node.users:
        if user.op == "call_function" and _target(user.target) == "_operator.getitem":
            names[user.args[1]] = user.name
    return names


def _argument(value: Any) -> object:
    """An argument as a record has it."""
    kind = type(value).__name__
    if kind == "Node":
        known = value.meta.get("val")
        return Ref(value.name) if _is_tensor(known) else _size(known)
    if isinstance(value, list | tuple):
        return [_argument(item) for item in cast("Sequence[Any]", value)]
    if kind == "dtype":
        return element_of(dtype_from_name(dtype_name(value)))
    if kind in ("device", "memory_format", "layout"):
        return str(value)
    return value


def _is_tensor(value: object) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _record(value: Any) -> TensorRecord:
    element = element_of(dtype_from_name(dtype_name(value.dtype)))
    return TensorRecord(element, tuple(Dim.of(_size(size)) for size in value.shape))


def _size(size: Any) -> Any:
    """A size as a number or a dimension; a number of another kind as it is."""
    if isinstance(size, int | float | bool):
        return size
    try:
        return dim_of(size.node.expr)
    except (UnknownExpression, AttributeError) as error:
        raise StepwellError("unsupported", NAME, f"the size {size} is not supported: {error}") from None


def dim_of(expression: Any) -> Dim:
    """An expression of sympy as a dimension. Raises: UnknownExpression."""
    if expression.is_Symbol:
        return Dim.symbol(expression.name)
    if expression.is_Integer:
        return Dim.of(int(expression))
    return combined(type(expression).__name__, [dim_of(each) for each in expression.args])


def _bound(bound: Any) -> int | None:
    """A bound of a range as a number; None for infinity."""
    return int(bound) if getattr(bound, "is_Integer", False) else None
