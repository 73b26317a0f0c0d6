"""Calls of operators that torch itself runs, at run time: `graph.host_call "torch"`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, i64
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph, torch
from stepwell.dialects.torch.call_text import SIZE, described_call
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.to_graph import Formula
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_RANDOM = re.compile(
    r"rand|normal|bernoulli|dropout|multinomial|uniform|exponential|cauchy|geometric|poisson"
)
"""Names of operators that have another result at each call."""


def runs_in_torch(op: Operation) -> bool:
    """Whether the module of an op lets torch run what has no conversion: attribute `torch.unsupported`."""
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    return isinstance(top, ModuleOp) and top.attributes.get(torch.UNSUPPORTED) == StringAttr("torch")


def host_call(op: Operation, at: Formula) -> graph.HostCallOp:
    """
    The call of an operator by torch.

    Raises: StepwellError `unsupported` for one whose arguments the program does not record.
    """
    if (described := described_call(op)) is None:
        title = op.target.data if isinstance(op, torch.OperatorOp) else op.name
        message = f"{title} cannot be run by torch: its arguments are not recorded"
        raise StepwellError("unsupported", op, message)
    target, text = described
    call = cast("dict[str, object]", json.loads(text))
    operands = list(op.operands)
    call["arguments"] = _with_sizes(call["arguments"], operands, at)
    types = list(op.result_types)
    return graph.HostCallOp(
        "torch",
        target,
        StringAttr(json.dumps(call, sort_keys=True)),
        operands,
        types,
        _new_sizes(op),
        effect=_RANDOM.search(target) is not None,
    )


def _with_sizes(value: object, operands: list[SSAValue], at: Formula) -> object:
    """An argument in which open sizes are further operands, of rank 0."""
    if isinstance(value, list):
        return [_with_sizes(item, operands, at) for item in cast("Sequence[object]", value)]
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, object]", value)
    if SIZE not in items:
        return {name: _with_sizes(item, operands, at) for name, item in items.items()}
    operands.append(at.extent(Dim.of(str(items[SIZE])), i64).ssa)
    return {SIZE: len(operands) - 1}


def _new_sizes(op: Operation) -> list[str]:
    """The symbols in types of results that only the data determine."""
    known = {symbol for value in op.operands for symbol in _symbols(value)}
    block = op.parent_block()
    known |= {symbol for value in (block.args if block else ()) for symbol in _symbols(value)}
    made = [symbol for value in op.results for symbol in _symbols(value)]
    return [symbol for symbol in dict.fromkeys(made) if symbol not in known]


def _symbols(value: SSAValue) -> list[str]:
    dims = dims_of(tensor_of(value)) if isinstance(value.type, TensorType) else ()
    return [symbol for dim in dims for symbol in sorted(dim.symbols())]
