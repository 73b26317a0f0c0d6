"""The graph of a `.pt2` file as records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from stepwell.dialects.graph_ir.state import next_name
from stepwell.frontend.torch.expressions import UnknownExpression, parse_expression
from stepwell.frontend.torch.fields import Fields
from stepwell.frontend.torch.records import (
    Array,
    Input,
    Node,
    Output,
    Ref,
    TensorRecord,
    TorchProgram,
    result_of,
)
from stepwell.frontend.torch.stack import module_text, user_line
from stepwell.frontend.torch.stored_weights import element_type
from stepwell.frontend.torch.targets import LEFT_OUT_ARGUMENTS, is_check, is_size
from stepwell.frontend.torch.trees import input_names, output_names, tree_of_text
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_PREFIX = "torch.ops."
_WEIGHTS = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}


class GraphReader:
    """
    The reader of one program.

    Args: `weights` are the tensors of the file by their own names.
    """

    def __init__(self, fields: Fields, weights: Mapping[str, Array]):
        module = fields.child("graph_module")
        self._fields, self._module, self._graph = fields, module, module.child("graph")
        self._stored = weights
        self._tensors = self._graph.child("tensor_values")
        self._sizes: dict[str, Dim | int] = {}
        values = self._graph.child("sym_int_values")
        for name in values:
            self._sizes[name] = _dim(values.child(name))

    def program(self) -> TorchProgram:
        """The whole program. Raises: StepwellError `invalid-model`, `unsupported`."""
        fields = self._fields
        program = TorchProgram(fields.file)
        if "torch_version" in fields:
            program.version = fields.string("torch_version")
        self._read_inputs(program)
        if "guards_code" in fields:
            program.guards = [text for text in fields.items("guards_code") if isinstance(text, str)]
        program.nodes = [node for each in self._graph.children("nodes") for node in self._node(each)]
        self._read_outputs(program)
        ranges = fields.child("range_constraints")
        for name in ranges:
            bounds = ranges.child(name)
            least = bounds.integer("min_val") if "min_val" in bounds else 0
            program.ranges[name] = (least, bounds.integer("max_val") if "max_val" in bounds else None)
        return program

    def _read_inputs(self, program: TorchProgram) -> None:
        signature = self._module.child("signature")
        changed = _changed(signature)
        labels = iter(self._labels("in_spec"))
        for spec in signature.children("input_specs"):
            kind, _ = spec.union()
            about = spec.child(kind)
            if kind == "user_input":
                self._read_user_input(about.child("arg"), next(labels, None), program)
            elif kind in _WEIGHTS:
                name, own_name = about.child("arg").string("name"), about.string(_WEIGHTS[kind])
                if (array := self._stored.get(own_name)) is None:
                    raise about.invalid(f"the file has no tensor {own_name!r}")
                if own_name in changed:
                    record = self._tensor(name)
                    program.inputs.append(Input(name, own_name, record, own_name, array))
                else:
                    program.weights[name] = (own_name, array)
            elif kind != "token":
                raise _unsupported(about, f"inputs of kind {kind}")

    def _read_user_input(self, argument: Fields, label: str | None, program: TorchProgram) -> None:
        kind, _ = argument.union()
        if kind == "as_tensor":
            name = argument.child("as_tensor").string("name")
            program.inputs.append(Input(name, label or name, self._tensor(name)))
        elif kind not in ("as_none", "as_int", "as_float", "as_bool", "as_string"):
            raise _unsupported(argument, f"inputs of kind {kind}")

    def _read_outputs(self, program: TorchProgram) -> None:
        """The results: next values of buffers, those of the caller, then new values of written arguments."""
        specs = self._module.child("signature").children("output_specs")
        labels, written = iter(self._labels("out_spec")), list[Output]()
        for spec in specs:
            kind, _ = spec.union()
            about = spec.child(kind)
            if kind == "user_output":
                label = next(labels, None) or f"output_{len(program.outputs)}"
                if (value := result_of(self._argument(about.child("arg")))) is not None:
                    program.outputs.append(Output(value, label))
            elif kind == "buffer_mutation":
                name = about.child("arg").string("name")
                program.outputs.append(Output(Ref(name), "", about.string("buffer_name")))
            elif kind == "user_input_mutation":
                new, argument = about.child("arg").string("name"), about.string("user_input_name")
                written.append(Output(Ref(new), next_name(program.label_of(argument))))
            elif kind == "parameter_mutation":
                program.written[about.child("arg").string("name")] = about.string("parameter_name")
            elif kind != "token":
                raise _unsupported(about, f"results of kind {kind}")
        program.outputs += written

    def _labels(self, spec: str) -> list[str]:
        """The names of the user's inputs or outputs; empty if the file does not describe them."""
        for call in self._module.children("module_call_graph"):
            if call.string("fqn") == "" and "signature" in call:
                signature = call.child("signature")
                tree = tree_of_text(signature.string(spec), signature.where)
                if spec == "out_spec":
                    return output_names(tree)
                given = signature.items("forward_arg_names") if "forward_arg_names" in signature else []
                return input_names(tree, list(map(str, given)))
        return []

    def _node(self, node: Fields) -> Iterable[Node]:
        target = node.string("target").removeprefix(_PREFIX)
        if is_size(target) or is_check(target):
            return
        outputs = [pair for each in node.children("outputs") for pair in self._outputs(each)]
        arguments = {
            each.string("name"): self._argument(each.child("arg"))
            for each in node.children("inputs")
            if each.string("name") not in LEFT_OUT_ARGUMENTS
        }
        metadata = node.child("metadata")
        name = node.string("name") if "name" in node else (outputs[0][0] if outputs else target)
        stack = metadata.string("stack_trace") if "stack_trace" in metadata else ""
        module = metadata.string("nn_module_stack") if "nn_module_stack" in metadata else ""
        file, line = user_line(stack)
        yield Node(name, target, arguments, tuple(outputs), _module(module), file, line)

    def _outputs(self, output: Fields) -> Iterable[tuple[str, TensorRecord]]:
        kind, _ = output.union()
        if kind == "as_tensor":
            name = output.child(kind).string("name")
            yield name, self._tensor(name)
        elif kind == "as_tensors":
            for each in output.children(kind):
                yield each.string("name"), self._tensor(each.string("name"))
        elif kind != "as_none":
            raise _unsupported(output, f"results of kind {kind}")

    def _tensor(self, name: str) -> TensorRecord:
        meta = self._tensors.child(name)
        dims = [Dim.of(_dim(size)) for size in meta.children("sizes")]
        return TensorRecord(element_type(meta.integer("dtype"), meta), tuple(dims))

    def _argument(self, argument: Fields) -> object:
        kind, value = argument.union()
        match kind:
            case "as_none":
                return None
            case "as_tensor":
                return Ref(argument.child(kind).string("name"))
            case "as_tensors":
                return [Ref(each.string("name")) for each in argument.children(kind)]
            case "as_optional_tensors":
                return [self._argument(each) for each in argument.children(kind)]
            case "as_sym_int":
                return self._size(argument.child(kind))
            case "as_sym_ints":
                return [self._size(each) for each in argument.children(kind)]
            case "as_scalar_type":
                return element_type(argument.integer(kind), argument)
            case "as_int" | "as_bool" | "as_float" | "as_string" | "as_ints" | "as_floats" | "as_bools":
                return _plain(argument, kind, value)
            case "as_memory_format" | "as_layout":
                return str(argument.integer(kind))
            case "as_device":
                return argument.child(kind).string("type")
            case _:
                raise _unsupported(argument, f"arguments of kind {kind}")

    def _size(self, size: Fields) -> Dim | int:
        kind, _ = size.union()
        if kind == "as_int":
            return size.integer(kind)
        name = size.string(kind)
        if (found := self._sizes.get(name)) is None:
            raise size.invalid(f"nothing defines the size {name!r}")
        return found


def _changed(signature: Fields) -> set[str]:
    """The names of the buffers that the program changes."""
    specs = [spec for spec in signature.children("output_specs") if "buffer_mutation" in spec]
    return {spec.child("buffer_mutation").string("buffer_name") for spec in specs}


def _dim(size: Fields) -> Dim | int:
    """A size: a number, or an expression of sympy as text."""
    if "as_int" in size:
        return size.integer("as_int")
    try:
        return parse_expression(size.child("as_expr").string("expr_str"))
    except UnknownExpression as error:
        raise StepwellError("unsupported", size.where, str(error)) from None


def _plain(argument: Fields, kind: str, value: object) -> object:
    """A number, a truth value, text, or a list of these; text for a float that JSON lacks (`Infinity`)."""
    is_list = isinstance(value, list)
    items = cast("list[object]", value) if is_list else [value]
    if not all(isinstance(item, bool | int | float | str) for item in items):
        raise argument.invalid(f"{kind} cannot be {type(value).__name__}")
    if kind in ("as_float", "as_floats"):
        try:
            items = [float(cast(str, item)) for item in items]
        except ValueError:
            raise argument.invalid(f"{kind} must be numbers") from None
    return items if is_list else items[0]


def _module(stack: str) -> str:
    """The innermost module of a stack `key,path,class;…`."""
    parts = stack.rpartition(";")[2].split(",")
    return module_text(parts[1], parts[2]) if len(parts) == 3 and not parts[0].startswith("_empty") else ""


def _unsupported(fields: Fields, what: str) -> StepwellError:
    return StepwellError("unsupported", fields.where, f"{what} are not supported")
