"""TFLite files as modules of level 0, without any package: mapped, bounded, nothing run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph_ir.state import named
from stepwell.dialects.types import tensor_type
from stepwell.frontend.mapped_file import mapped_file
from stepwell.frontend.tflite.body import Body, Program
from stepwell.frontend.tflite.control import add_control
from stepwell.frontend.tflite.model import Model
from stepwell.runtime.dims import Dim

_NOT_A_NAME = re.compile(r"\W")


def read_tflite(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A file as a module of level 0.

    Raises: StepwellError `no-file`, `invalid-model`, `unsupported`, `undefined-value`, `too-large`.
    """
    data, state = mapped_file(path)
    ctx.weights.rest_on([state])
    return module_of_bytes(data, path.name, ctx)


def module_of_bytes(data: memoryview, name: str, ctx: StepwellContext) -> ModuleOp:
    """The bytes of a file as a module of level 0. Raises: StepwellError as `read_tflite`."""
    module = ModuleOp([_main(Model(data, name), ctx)])
    module.location = FileLineColLoc(StringAttr(name), IntAttr(0), IntAttr(0))
    return module


def _main(model: Model, ctx: StepwellContext) -> FuncOp:
    """The function `@main`: states, then the inputs of the first subgraph."""
    block, graph = Block(), model.subgraphs[0]
    body = Body(Program(model, ctx.weights, block, add_control), 0, block)
    inputs, outputs = (
        _labels(body, kind, tensors)
        for kind, tensors in (("inputs", graph.inputs), ("outputs", graph.outputs))
    )
    arguments = [_argument(body, index, label) for index, label in zip(graph.inputs, inputs, strict=True)]
    results = body.results(arguments)
    states, next_values, next_names = body.program.variables.finish(body.variables)
    block.add_op(ReturnOp(*results, *next_values))
    return FuncOp(
        "main",
        (list(block.arg_types), [value.type for value in (*results, *next_values)]),
        Region(block),
        arg_attrs=ArrayAttr([*states, *map(named, inputs)]),
        res_attrs=ArrayAttr([*map(named, outputs), *next_names]),
    )


def _labels(body: Body, kind: str, tensors: Sequence[int]) -> list[str]:
    """The names of inputs or outputs: those of the signature, else the tensors' own; all different."""
    names, labels = body.graph.model.signature_names(kind), list[str]()
    for position, index in enumerate(tensors):
        label = names.get(index) or body.record(index).name or f"{kind[:-1]}{position}"
        labels.append(label if label not in labels else f"{label}_{position}")
    return labels


def _argument(body: Body, index: int, label: str) -> SSAValue:
    """An argument; its open sizes are named after it."""
    record, prefix = body.record(index), _NOT_A_NAME.sub("_", label)
    dims = [
        Dim.symbol(f"{prefix}_{axis}") if dim.is_unknown else dim
        for axis, dim in enumerate(record.dims or ())
    ]
    return body.block.insert_arg(tensor_type(record.element, dims), len(body.block.args))
