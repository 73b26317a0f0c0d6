"""Reading of PyTorch programs in memory: exported programs, and modules, which are exported before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph_ir.state import next_name
from stepwell.frontend.torch.build import build_module
from stepwell.frontend.torch.decompositions import decompositions
from stepwell.frontend.torch.direct import is_direct
from stepwell.frontend.torch.export import exported_program
from stepwell.frontend.torch.fx_nodes import NAME, bound_of, is_tensor, node_records, record_of, size_of
from stepwell.frontend.torch.given_weights import given_weights
from stepwell.frontend.torch.on_demand import Decomposer
from stepwell.frontend.torch.records import Input, Output, Ref, TorchProgram, result_of
from stepwell.frontend.torch.tensors import array_of, torch_package
from stepwell.frontend.torch.trees import input_names, output_names, tree_of_spec
from stepwell.runtime.errors import StepwellError


def read_module(
    module: Any,
    ctx: StepwellContext,
    example_inputs: object,
    dynamic_shapes: object = None,
    check_guards: bool = True,
    weights_from: object = None,
) -> ModuleOp:
    """
    A PyTorch module as a module of level 0, for inputs like the examples.

    Args: `example_inputs` are the arguments of `forward`, as a tuple, or as a dictionary by name;
    `dynamic_shapes` is as for `torch.export.export`, or has names of sizes: `{"x": {0: "N"}}`; with
    `check_guards`, calls with sizes for which torch did not export the program are errors; `weights_from` is
    a file with the values of the module's weights.
    Raises: StepwellError `export-failed` with torch's message; `missing-package`.
    """
    with given_weights(module, weights_from, ctx):
        program, names = exported_program(module, example_inputs, dynamic_shapes)
    return read_torch(program, ctx, names, check_guards)


def read_torch(
    program: Any,
    ctx: StepwellContext,
    symbol_names: Mapping[str, str] | None = None,
    check_guards: bool = True,
) -> ModuleOp:
    """
    An exported program (`torch.export.ExportedProgram`) as a module of level 0, which shares its weights.

    Args: `symbol_names` are the user's names of the program's symbols; `check_guards` as for `read_module`.
    Raises: StepwellError `unsupported` for values other than dense tensors in memory.
    """
    torch_package()
    simple = program if is_direct(program) else program.run_decompositions(decompositions())
    record = _Reader(simple).program()
    record.symbol_names = dict(symbol_names or {})
    # Before version 2.9, torch does not store guards in the program.
    record.guards = tuple(getattr(program, "_guards_code", ())) if check_guards else ()
    ctx.decompose = Decomposer(simple.graph.nodes, record, ctx)
    return build_module(record, ctx)


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
                record.nodes += node_records(node)
        self._read_outputs(record, nodes)
        for symbol, bounds in self._program.range_constraints.items():
            record.ranges[str(symbol)] = (bound_of(bounds.lower) or 0, bound_of(bounds.upper))
        return record

    def _read_inputs(self, record: TorchProgram, nodes: Mapping[str, Any]) -> None:
        changed = set(self._signature.buffers_to_mutate.values())
        labels = iter(self._inputs)
        for spec in self._signature.input_specs:
            kind, name = spec.kind.name, spec.arg.name
            if kind == "USER_INPUT":
                label = next(labels, name)
                value = nodes[name].meta.get("val") if name in nodes else None
                if is_tensor(value):
                    record.inputs.append(Input(name, label, record_of(value)))
            elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                array = array_of(self._tensor(spec.target), spec.target)
                if spec.target in changed:
                    type = record_of(nodes[name].meta["val"])
                    record.inputs.append(Input(name, spec.target, type, spec.target, array))
                else:
                    record.weights[name] = (spec.target, array)

    def _tensor(self, name: str) -> Any:
        """A parameter, buffer or constant of the program."""
        for store in (self._program.state_dict, self._program.constants):
            if name in store:
                return store[name]
        raise StepwellError("undefined-value", NAME, f"the program has no tensor {name!r}")

    def _read_outputs(self, record: TorchProgram, nodes: Mapping[str, Any]) -> None:
        """The results: next values of buffers, those of the caller, then new values of written arguments."""
        labels, written = iter(self._outputs), list[Output]()
        for spec in self._signature.output_specs:
            kind = spec.kind.name
            if kind == "BUFFER_MUTATION":
                record.outputs.append(Output(Ref(spec.arg.name), "", spec.target))
            elif kind == "PARAMETER_MUTATION":
                record.written[spec.arg.name] = spec.target
            elif kind == "USER_OUTPUT":
                label = next(labels, f"output_{len(record.outputs)}")
                if (value := result_of(_result(spec.arg, nodes))) is not None:
                    record.outputs.append(Output(value, label))
            elif kind == "USER_INPUT_MUTATION":
                written.append(Output(Ref(spec.arg.name), next_name(record.label_of(spec.target))))
            else:
                message = f"a program with results of kind {kind} is not supported"
                raise StepwellError("unsupported", NAME, message)
        record.outputs += written


def _result(argument: Any, nodes: Mapping[str, Any]) -> object:
    """What a result of the caller's is: a reference, a size, or a constant."""
    if type(argument).__name__ == "TensorArgument":
        return Ref(argument.name)
    if hasattr(argument, "value"):
        return argument.value
    return size_of(nodes[argument.name].meta["val"])
