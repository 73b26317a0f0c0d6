"""
The operators of ONNX, by name, that are an op or a chain of ops of `graph`: the names of its classes.

Classes are looked up when an operator is met: the tables would import five files that few models need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from stepwell.dialects import graph

if TYPE_CHECKING:
    from stepwell.dialects.graph.binary import BinaryOp
    from stepwell.dialects.graph.elementwise import UnaryOp

UNARY: Mapping[str, str] = {
    "Abs": "AbsOp",
    "Acos": "AcosOp",
    "Acosh": "AcoshOp",
    "Asin": "AsinOp",
    "Asinh": "AsinhOp",
    "Atan": "AtanOp",
    "Atanh": "AtanhOp",
    "BitwiseNot": "NotOp",
    "Ceil": "CeilOp",
    "Cos": "CosOp",
    "Cosh": "CoshOp",
    "Erf": "ErfOp",
    "Exp": "ExpOp",
    "Floor": "FloorOp",
    "IsNaN": "IsNanOp",
    "Log": "LogOp",
    "Neg": "NegOp",
    "Not": "NotOp",
    "Relu": "ReluOp",
    "Round": "RoundOp",
    "Sigmoid": "SigmoidOp",
    "Sign": "SignOp",
    "Sin": "SinOp",
    "Sinh": "SinhOp",
    "Softplus": "SoftplusOp",
    "Sqrt": "SqrtOp",
    "Tan": "TanOp",
    "Tanh": "TanhOp",
}

BINARY: Mapping[str, str] = {
    "Add": "AddOp",
    "And": "AndOp",
    "BitwiseAnd": "AndOp",
    "BitwiseOr": "OrOp",
    "BitwiseXor": "XorOp",
    "Div": "DivideOp",
    "Equal": "EqualOp",
    "Less": "LessOp",
    "LessOrEqual": "LessEqualOp",
    "Mul": "MultiplyOp",
    "Or": "OrOp",
    "Pow": "PowerOp",
    "Sub": "SubtractOp",
    "Xor": "XorOp",
}

SWAPPED: Mapping[str, str] = {"Greater": "LessOp", "GreaterOrEqual": "LessEqualOp"}

CHAINS: Mapping[str, str] = {"Max": "MaximumOp", "Mean": "AddOp", "Min": "MinimumOp", "Sum": "AddOp"}


def unary_op(title: str) -> type[UnaryOp]:
    """The class of `graph` for an operator in `UNARY`."""
    return getattr(graph, UNARY[title])


def binary_op(title: str) -> type[BinaryOp]:
    """The class of `graph` for an operator in `BINARY`, `SWAPPED` or `CHAINS`."""
    return getattr(graph, (BINARY.get(title) or SWAPPED.get(title)) or CHAINS[title])
