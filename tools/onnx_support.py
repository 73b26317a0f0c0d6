"""The support of each ONNX operator: by a conversion pattern, by the operator's function body, or none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from onnx import defs
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.onnx.base import domain_of
from stepwell.dialects.onnx.marks import INITIALIZER
from stepwell.dialects.plugins.operators import operator_of
from stepwell.lowering.onnx_to_graph import CONTRIB, FUNCTIONS, contrib_on_host, converted_operators

if TYPE_CHECKING:
    from stepwell.frontend import ModelSource

NATIVE, BODY, HOST, MISSING = "native", "by function body", "host", "missing"
MEANINGS = {
    BODY: "compiled too, as the operators that define it",
    HOST: "called out of the compiled code, in Python",
    MISSING: "not supported, so that the model does not compile",
}


_converted = cache(converted_operators)


def _has_strings(op: onnx.OnnxOp) -> bool:
    """Whether an operator has string operands or results, as far as the types are known."""
    types = [getattr(value.type, "element_type", None) for value in (*op.operands, *op.results)]
    return any(isinstance(type, onnx.StringType) for type in types)


@cache
def _with_body() -> frozenset[tuple[str, str]]:
    schemas: list[Any] = list(defs.get_all_schemas_with_history())
    return frozenset(
        (s.domain, s.name) for s in schemas if s.has_function or s.has_context_dependent_function
    )


def support_of(op: onnx.OnnxOp | onnx.CallOp) -> str:
    """
    The support of an operator: `native`, `by function body`, `host` or `missing`; attributes may still be
    refused.
    """
    if isinstance(op, onnx.CallOp):
        module = cast(ModuleOp, op.get_toplevel_object())
        functions = [f for f in module.ops if isinstance(f, onnx.FunctionOp)]
        if operator_of(op) is not None:
            return NATIVE
        if op.domain.data == FUNCTIONS:
            return HOST
        local = any((f.domain, f.op_type) == (op.domain, op.op_type) for f in functions)
        if not local and (on_host := contrib_on_host(op)) is not None:
            return HOST if on_host else NATIVE
        return BODY if local else MISSING
    native, host = op.name in _converted(on_host=False), op.name in _converted(on_host=True)
    if host or native:
        return HOST if not native or _has_strings(op) else NATIVE
    named = (domain_of(op.name), op.name.rpartition(".")[2])
    return BODY if named in _with_body() else MISSING


def operators_of(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """
    The ONNX name of each operator of a level-0 module, with its domain unless that is ONNX's or ONNX
    Runtime's, and its support.

    Operators in the model's functions are included, once for all calls; weights are not.
    """
    functions = {(f.domain, f.op_type): f for f in module.ops if isinstance(f, onnx.FunctionOp)}
    waiting: list[Operation] = [op for op in module.ops if not isinstance(op, onnx.FunctionOp)]
    while waiting:
        for op in waiting.pop().walk():
            if isinstance(op, onnx.CallOp):
                yield op.op_type.data if op.domain.data == CONTRIB else op.title, support_of(op)
                if (called := functions.pop((op.domain, op.op_type), None)) is not None:
                    waiting.append(called)
            elif isinstance(op, onnx.OnnxOp) and INITIALIZER not in op.attributes:
                yield op.op_type, support_of(op)


def support_of_model(model: ModelSource) -> list[tuple[str, str]]:
    """
    Operators of a model and how each is supported, before anything is compiled.

    Raises: StepwellError for a file that is no valid model.
    """
    from stepwell.frontend import import_onnx

    return list(operators_of(import_onnx(model, StepwellContext())))
