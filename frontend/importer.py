"""A model file as a module of level 0."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.attributes import int_attr
from stepwell.frontend.functions import FunctionImporter, is_shadowed, opset_map, opsets_attr
from stepwell.frontend.graphs import GraphImporter
from stepwell.frontend.info import describe, legible, string_array, text_attr
from stepwell.frontend.messages import GraphProto, ModelProto
from stepwell.frontend.nodes import Scope
from stepwell.frontend.source import ModelSource, Source, open_model
from stepwell.frontend.value_types import TypeImporter

DIM_NAMES = "onnx.dim_names"
"""Attribute of a module: maps symbols to the names of dimensions in the model that are not legal symbols."""
INPUTS = "onnx.inputs"
"""Attribute of a function: names of all inputs in order, if initializers are among them."""
QUANTIZATION = "onnx.quantization"
"""Attribute of a function: quantization annotations, the parameters of each tensor by name."""
DEFAULT = "onnx.default"
"""Attribute of an argument: the initializer that is its default."""
NAME = "graph.name"
"""Attribute of an argument or result: its name in the model."""

_TEXTS = ("producer_name", "producer_version", "domain")
_LEFT_OUT = ("training_info", "configuration")


def import_onnx(
    source: ModelSource | Source,
    ctx: StepwellContext,
    *,
    keep_overridable: bool = False,
    base_dir: str | Path | None = None,
) -> ModuleOp:
    """
    Import an ONNX model from a path, bytes, a message or an opened source. Nothing is computed, and large
    weights stay in the file.

    Args: `keep_overridable` imports initializers that are also inputs as arguments with a default, which a
    caller may override; else they are constants. `base_dir` is the folder of external data, by default that
    of the file.
    Raises: StepwellError with code `no-file`, `invalid-model`, `unknown-opset`, `undefined-value`, `cycle` or
    `external-data`, which names the file and the node.
    """
    opened = source if isinstance(source, Source) else open_model(source, base_dir)
    return _ModelImporter(opened, ctx, keep_overridable).module()


class _ModelImporter:
    """Imports one model."""

    def __init__(self, source: Source, ctx: StepwellContext, keep_overridable: bool):
        self._source, self._ctx, self._keep_overridable = source, ctx, keep_overridable
        self._types = TypeImporter(source)
        self._opsets = opset_map(source.model.opset_import, source.name)
        self._graphs = GraphImporter(source, self._types, ctx.weights, self._opsets)

    def module(self) -> ModuleOp:
        """The whole model."""
        model = self._source.model
        for name in _LEFT_OUT:
            if len(getattr(model, name)):
                self._source.warn(f"`{name}` is left out")
        for function in filter(is_shadowed, model.functions):
            self._source.warn(f"function {function.name} has the name of an operator of ONNX: it is ignored")
        functions = FunctionImporter(self._source, self._types, self._ctx.weights)
        ops = [self._main(model.graph), *map(functions.function, model.functions)]
        self._types.warn_of_negative()
        self._ctx.weights.rest_on(self._source.states)
        module = ModuleOp(ops, self._module_attributes(model))
        module.location = FileLineColLoc(StringAttr(self._source.name), IntAttr(0), IntAttr(0))
        return module

    def _module_attributes(self, model: ModelProto) -> dict[str, Attribute]:
        """The attributes of the module: opsets, versions, producer, metadata, renamed dimensions."""
        attributes: dict[str, Attribute] = {
            onnx.OPSETS: opsets_attr(self._opsets),
            "onnx.ir_version": int_attr(model.ir_version),
        }
        for name in _TEXTS:
            if text := getattr(model, name):
                attributes[f"onnx.{name}"] = text_attr(text)
        if model.model_version:
            attributes["onnx.model_version"] = int_attr(model.model_version)
        attributes |= describe(model, model.metadata_props)
        if renamed := self._types.renamed:
            names = {symbol: text_attr(name) for symbol, name in renamed.items()}
            attributes[DIM_NAMES] = DictionaryAttr(names)
        return attributes

    def _main(self, graph: GraphProto) -> FuncOp:
        """The main graph as a function."""
        scope, graphs = Scope(), self._graphs
        constants = self._constant_inputs(graph)
        inputs = [info for info in graph.input if info.name not in constants]
        types = graphs.value_types([*graph.value_info, *graph.output])
        input_types = graphs.value_types(inputs)
        block = Block(arg_types=[input_types[info.name] for info in inputs])
        for info, arg in zip(inputs, block.args, strict=True):
            graphs.define(scope, info.name, arg, graphs.location(info.name))
        defaults = {info.name for info in inputs} & {tensor.name for tensor in graph.initializer}
        graphs.initializers(graph, block, scope, skip=defaults)
        graphs.nodes(graph.node, block, scope, types)
        names = [info.name for info in graph.output]
        results = graphs.outputs(names, scope, "the model")
        block.add_op(ReturnOp(*results))
        function = FuncOp(
            "main",
            ([arg.type for arg in block.args], [result.type for result in results]),
            Region(block),
            arg_attrs=ArrayAttr(self._argument_attributes(graph, [i.name for i in inputs], defaults)),
            res_attrs=ArrayAttr([DictionaryAttr({NAME: text_attr(name)}) for name in names]),
        )
        function.attributes |= self._graph_attributes(graph, scope, constants)
        return function

    def _constant_inputs(self, graph: GraphProto) -> set[str]:
        """The names of the inputs that are constants: initializers, unless they are overridable."""
        both = {tensor.name for tensor in graph.initializer} & {info.name for info in graph.input}
        both |= {tensor.values.name for tensor in graph.sparse_initializer} & {i.name for i in graph.input}
        if both and self._source.model.ir_version >= 4:
            if self._keep_overridable:
                return set()
            names = ", ".join(sorted(both)[:3]) + (", …" if len(both) > 3 else "")
            self._source.warn(
                f"inputs that are initializers too ({names}) are taken as constants: "
                "`import_onnx` keeps them as inputs with `keep_overridable`"
            )
        return both

    def _argument_attributes(
        self, graph: GraphProto, names: Iterable[str], defaults: set[str]
    ) -> list[DictionaryAttr]:
        """The attributes of the arguments: their names, and their defaults."""
        tensors = [tensor for tensor in graph.initializer if tensor.name in defaults]
        values = dict(zip([t.name for t in tensors], self._graphs.constants(tensors), strict=True))
        return [
            DictionaryAttr({NAME: text_attr(name), **({DEFAULT: values[name]} if name in values else {})})
            for name in names
        ]

    def _graph_attributes(self, graph: GraphProto, scope: Scope, constants: set[str]) -> dict[str, Attribute]:
        """
        The attributes of the main function: those of its graph, the order of inputs, quantization
        annotations.
        """
        attributes = self._graphs.graph_attributes(graph, scope)
        if constants:
            attributes[INPUTS] = string_array(info.name for info in graph.input)
        if graph.quantization_annotation:
            attributes[QUANTIZATION] = DictionaryAttr(
                {
                    legible(annotation.tensor_name): DictionaryAttr(
                        {legible(e.key): text_attr(e.value) for e in annotation.quant_parameter_tensor_names}
                    )
                    for annotation in graph.quantization_annotation
                }
            )
        return attributes
