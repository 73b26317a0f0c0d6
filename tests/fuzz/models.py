"""Case: a random model, compiled and compared with the reference; and its smallest part that still fails."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto

import stepwell
from stepwell.runtime.errors import InternalError, StepwellError
from tests.conformance.judge import difference
from tests.fuzz.builder import Value
from tests.fuzz.generate import Program

# Over 40 nodes errors add up, and differences of near values make them larger: each node counts for some.
SLACK = 4
_RTOL = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2}


def opt_level_of(seed: int) -> int:
    """The level that a seed is compiled at: the default half of the time."""
    return (0, 2, 2, 3)[seed // 2 % 4]


def check_model(program: Program, opt_level: int = 2) -> tuple[str, str]:
    """Status and reason: `native` when all results are right, else `wrong`, `error` or `internal`."""
    try:
        model = stepwell.compile(program.model, opt_level=opt_level, use_cache=False, processes=1, threads=2)
        found = list(model.run(program.inputs).values())
    except InternalError as error:
        return "internal", f"{error.code}: {error.message}"[:300]
    except StepwellError as error:
        return "error", f"{error.code}: {error.message}"[:300]
    except Exception as error:  # whatever it is, it is to be reported
        at = traceback.extract_tb(error.__traceback__)[-1]
        return "internal", f"{type(error).__name__} at {at.name}:{at.lineno}: {error}"[:300]
    text = departs(program.outputs, found, len(program.model.graph.node))
    return ("native", "") if text is None else ("wrong", text)


def departs(expected: Sequence[Value], found: Sequence[Any], nodes: int) -> str | None:
    """How results differ by more than so many roundings explain, relative to the range; else None."""
    for i, (result, value) in enumerate(zip(expected, found, strict=True)):
        wanted = result.array
        if result.dtype not in _RTOL or value.shape != wanted.shape or value.dtype != wanted.dtype:
            text = difference(wanted, value)
        else:
            scale = max(1.0, float(np.abs(wanted).max(initial=0)))
            bound = _RTOL[result.precision] * scale * (1 + nodes / SLACK)
            a, b = wanted.astype(np.float64), value.astype(np.float64)
            worst = float(np.abs(a - b).max(initial=0)) if wanted.size else 0.0
            text = None if worst <= bound else f"off by {worst:.3g}, allowed {bound:.3g}"
        if text is not None:
            return f"output {i}: {text}"
    return None


def minimised(program: Program, opt_level: int = 2) -> Program:
    """
    The part of a failing model that fails the same way: up to one value or a few, without its first nodes.

    Values of nodes that are cut away become inputs.
    """
    wanted = _kind(check_model(program, opt_level))
    smallest = program

    def known(node: onnx.NodeProto) -> bool:
        return all(name in program.values for name in node.output)  # lists are not

    def fails(inputs: Sequence[str], outputs: Sequence[str]) -> bool:
        nonlocal smallest
        part = extracted(smallest.model, inputs, outputs, program.values)
        if not part.model.graph.node or _kind(check_model(part, opt_level)) != wanted:
            return False
        smallest = part
        return True

    if not any(fails(list(program.inputs), node.output) for node in program.model.graph.node if known(node)):
        for name in [o.name for o in program.model.graph.output]:  # several values together
            fails(list(program.inputs), [o.name for o in smallest.model.graph.output if o.name != name])
    for node in list(smallest.model.graph.node):
        outputs = [o.name for o in smallest.model.graph.output]
        if known(node) and not set(node.output) & set(outputs):
            fails([*smallest.inputs, *filter(None, node.output)], outputs)
    return smallest


def _kind(outcome: tuple[str, str]) -> tuple[str, str]:
    """What is the same for programs that fail in one way: for refusals, how their messages begin."""
    status, reason = outcome
    return status, reason[:30] if status in ("error", "internal") else ""


def extracted(
    model: ModelProto, inputs: Sequence[str], outputs: Sequence[str], values: Mapping[str, Value]
) -> Program:
    """The nodes between some values, as a model of its own."""
    needed, nodes = set(outputs), []
    for node in reversed(model.graph.node):
        if needed & set(node.output) and not set(node.output) & set(inputs):
            nodes.append(node)
            needed |= set(_read_by(node))
    needed |= {name for node in nodes for name in _read_by(node)}
    part = ModelProto()
    part.CopyFrom(model)
    for field in ("node", "input", "output", "initializer"):
        part.graph.ClearField(field)
    part.graph.node.extend(nodes[::-1])
    part.graph.initializer.extend(t for t in model.graph.initializer if t.name in needed)
    kept = [name for name in inputs if name in needed and name in values]
    known = {info.name: info for info in model.graph.input}
    part.graph.input.extend(known.get(name) or _info(values[name]) for name in kept)
    part.graph.output.extend(_info(values[name], known=False) for name in outputs)
    given = {name: values[name].array for name in kept}
    return Program(part, given, [values[name] for name in outputs], values)


def _read_by(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node and its graphs read; those of values inside do no harm."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _read_by(inner)


def _info(value: Value, *, known: bool = True) -> onnx.ValueInfoProto:
    dims = list(value.shape) if known else [None] * len(value.shape)
    code = onnx.helper.np_dtype_to_tensor_dtype(value.array.dtype)
    return onnx.helper.make_tensor_value_info(value.name, code, dims)
