"""Calls of functions in the `llvm` dialect, by name and by address."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, i32
from xdsl.ir import Attribute, SSAValue


@cache
def segment_sizes(*sizes: int) -> DenseArrayBase:
    """The number of operands of each kind, as an op stores it."""
    return DenseArrayBase.from_list(i32, sizes)


@cache
def _call_properties(arguments: int) -> dict[str, Attribute]:
    return {
        "fastmathFlags": llvm.FastMathAttr(None),
        "CConv": llvm.CallingConventionAttr("ccc"),
        "TailCallKind": llvm.TailCallKindAttr(llvm.TailCallKind.NONE),
        "op_bundle_sizes": segment_sizes(),
        "operandSegmentSizes": segment_sizes(arguments, 0),
    }


def call_symbol(
    callee: SymbolRefAttr, arguments: Sequence[SSAValue], result: Attribute | None = None
) -> llvm.CallOp:
    """A call of a function by its name, for its effect or for its result."""
    return llvm.CallOp.create(
        operands=arguments,
        result_types=[] if result is None else [result],
        properties={"callee": callee, **_call_properties(len(arguments))},
    )


def call_pointer(
    callee: SSAValue, arguments: Sequence[SSAValue], result: Attribute | None = None
) -> llvm.CallOp:
    """An indirect call of a function, with a result unless `result` is None."""
    return llvm.CallOp.create(
        operands=[callee, *arguments],
        result_types=[] if result is None else [result],
        properties=_call_properties(1 + len(arguments)),
    )
