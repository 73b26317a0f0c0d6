"""Partitions for the reference backend: conversion of a function to the list of ops that are run."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, operand_slots, plain
from stepwell.dialects.graph_ir.dissolve import open_regions, take_fields
from stepwell.dialects.types import DimsAttr
from stepwell.lowering.backends.base import Constants
from stepwell.lowering.backends.program_bytes import encoded
from stepwell.lowering.backends.single_op import computing_ops
from stepwell.passes.analysis.symbol_sources import symbol_sources
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.meaning import has_meaning


def is_computable(op: Operation) -> bool:
    """Whether an op, or each op of its region, has a numpy meaning and no effect."""
    if isinstance(op, graph.ClosedRegionOp):
        return all(is_computable(inner) for inner in computing_ops(op))
    return has_meaning(op.name) and is_side_effect_free(op)


def program_of(func: FuncOp, constants: Constants) -> bytes:
    """A function of the graph level as a program: constants, then a step per op over numbered values."""
    if func.parent is not None:
        func.detach()
    module = ModuleOp([func])
    open_regions(module)
    take_fields(module)
    sources = {name: (s.value.index, s.position, s.is_element) for name, s in symbol_sources(func).items()}
    block = func.body.block
    slots: dict[SSAValue, int] = {arg: arg.index for arg in block.args}
    arrays: list[Array] = []
    for op in block.ops:
        if isinstance(op, graph.ConstantOp):
            slots[op.result] = len(block.args) + len(arrays)
            array = constants.of(op.result)
            assert array is not None
            arrays.append(array)
    steps = [_step(op, slots) for op in block.ops if not isinstance(op, graph.ConstantOp | ReturnOp)]
    last = block.last_op
    assert last is not None
    results = [slots[value] for value in last.operands]
    return encoded({"symbols": sources, "steps": steps, "results": results}, arrays)


def _step(op: Operation, slots: dict[SSAValue, int]) -> dict[str, object]:
    """An op as a step: name, numbers of the operands, properties as JSON."""
    if not isinstance(op, GraphOp) or not has_meaning(op.name):
        raise StepwellError("unsupported-op", op, f"{op.name} has no numpy meaning")
    operands = [None if value is None else slots[value] for value in operand_slots(op)]
    for result in op.results:
        slots[result] = len(slots)
    properties = {
        name: _json(value) for name, value in op.properties.items() if name != "operandSegmentSizes"
    }
    return {"op": op.name, "operands": operands, "properties": properties}


def _json(attribute: Attribute) -> object:
    """A property as JSON; dimensions as text, dtypes by name."""
    if isinstance(attribute, DimsAttr):
        return {"dims": [str(dim) for dim in attribute.get()]}
    value = plain(attribute)
    return {"dtype": value.name} if isinstance(value, np.dtype) else value
