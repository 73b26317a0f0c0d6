"""A module of `emitc` as the text of a C file: helpers that it calls, constants, functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.emitc import EmitC_CallOpaqueOp
from xdsl.ir import Attribute

from stepwell.dialects import emitc
from stepwell.dialects.constants import array_of
from stepwell.lowering.c_math import TABLE
from stepwell.lowering.emit_c.constants import ConstantArray
from stepwell.lowering.emit_c.function import FunctionText
from stepwell.lowering.emit_c.helpers import HELPERS, helper_texts
from stepwell.lowering.emit_c.mathematics import MATHEMATICS, mathematics_text
from stepwell.lowering.emit_c.pointers import Written
from stepwell.lowering.emit_c.types import Names
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.files.weights import WeightStore


@dataclass(frozen=True)
class CSource:
    """The parts of a C file."""

    helpers: str
    """Functions that the others call for what C has no operator for."""
    constants: str
    """The weights, where they are in the file."""
    functions: str

    @property
    def text(self) -> str:
        """The parts in their order."""
        return "\n".join(filter(None, (self.helpers, self.constants, self.functions)))


def emit_c(
    module: ModuleOp,
    weights: WeightStore,
    *,
    places: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> CSource:
    """
    The C of a module.

    Args: `places` are expressions for global constants that are elsewhere; the others are in the file, by
    the names of `names`.
    Raises: StepwellError `unsupported` for an op of another dialect.
    """
    globals: dict[str, str] = dict(places or {})
    constants: list[str] = []
    used = {op.global_name.string_value() for op in module.walk() if isinstance(op, emitc.GetGlobalOp)}
    for op in module.ops:
        if isinstance(op, emitc.GlobalOp) and (symbol := op.sym_name.data) in used - globals.keys():
            name = (names or {}).get(symbol, symbol)
            array = ConstantArray(name, op.type, array_of(_value_of(op), weights))
            constants.append(array.definition())
            globals[symbol] = array.place
    called: dict[str, None] = {}
    functions: list[str] = []
    written = Written.of(module)
    taken = {
        *HELPERS,
        *MATHEMATICS,
        TABLE,
        *(f.sym_name.data for f in module.ops if isinstance(f, emitc.FuncOp)),
    }
    for op in module.ops:
        if isinstance(op, emitc.FuncOp):
            reads = any(isinstance(inner, emitc.GetGlobalOp) for inner in op.walk())
            scope = Names({*taken, *_identifiers(globals.values())} if reads else taken)
            functions.append(FunctionText(op, written, scope, globals).text())
        elif not isinstance(op, emitc.GlobalOp):
            raise StepwellError("unsupported", op, f"{op.name} is no function of C, nor a constant")
    for op in module.walk():
        if isinstance(op, EmitC_CallOpaqueOp):
            called[op.callee.data] = None
    body = "\n".join(functions)
    called |= dict.fromkeys(
        name
        for name in ("f32_of_bits", "f64_of_bits", "index_of_i64", "failed", "call_host")
        if f"{name}(" in body
    )
    if unknown := [name for name in called if name not in (HELPERS.keys() | MATHEMATICS)]:
        raise InternalError(None, f"C has no helper {unknown[0]}")
    mathematics = mathematics_text(called)
    helpers = helper_texts([name for name in called if name in HELPERS], mathematics)
    return CSource("\n".join(filter(None, (helpers, mathematics))), "\n".join(constants), body)


def _value_of(op: emitc.GlobalOp) -> Attribute:
    """The value of a constant. Raises: InternalError for one without."""
    if op.initial_value is None:
        raise InternalError(op, f"constant @{op.sym_name.data} has no elements")
    return op.initial_value


def _identifiers(expressions: Iterable[str]) -> list[str]:
    """The names in expressions, but for the argument `call` of `@main`."""
    found = (name for text in expressions for name in re.findall(r"[A-Za-z_]\w*", text))
    return [name for name in found if name != "call"]
