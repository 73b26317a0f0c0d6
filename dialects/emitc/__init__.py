"""
The `emitc` dialect: a program in C, an op for each operator and statement, under the names of MLIR's dialect.

xDSL has the types, `add`, `apply` and `call_opaque`; the other ops are ours. A value is an expression, and an
lvalue, of type `!emitc.lvalue<T>`, is a variable or an element of an array, which `load` reads and `assign`
writes.
"""

from xdsl.dialects import emitc as upstream
from xdsl.ir import Dialect

from stepwell.dialects.emitc.expressions import (
    EXPRESSIONS,
    BinaryOp,
    CastOp,
    CmpOp,
    ConditionalOp,
    ConstantOp,
    LiteralOp,
    LoadOp,
    SubscriptOp,
    UnaryOp,
)
from stepwell.dialects.emitc.statements import (
    STATEMENTS,
    AssignOp,
    CallOp,
    DoOp,
    ForOp,
    FuncOp,
    GetGlobalOp,
    GlobalOp,
    IfOp,
    IncludeOp,
    ReturnOp,
    VariableOp,
    VerbatimOp,
    YieldOp,
)

EmitC = Dialect(
    "emitc",
    [upstream.EmitC_ApplyOp, upstream.EmitC_CallOpaqueOp, *EXPRESSIONS, *STATEMENTS],
    list(upstream.EmitC.attributes),
)

__all__ = [
    "AssignOp",
    "BinaryOp",
    "CallOp",
    "CastOp",
    "CmpOp",
    "ConditionalOp",
    "ConstantOp",
    "DoOp",
    "EmitC",
    "ForOp",
    "FuncOp",
    "GetGlobalOp",
    "GlobalOp",
    "IfOp",
    "IncludeOp",
    "LiteralOp",
    "LoadOp",
    "ReturnOp",
    "SubscriptOp",
    "UnaryOp",
    "VariableOp",
    "VerbatimOp",
    "YieldOp",
]
