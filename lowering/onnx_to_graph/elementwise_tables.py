"""The operators of ONNX, by name, that are an op or a chain of ops of `graph`."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.dialects import graph
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp

UNARY: Mapping[str, type[UnaryOp]] = {
    "Abs": graph.AbsOp,
    "Acos": graph.AcosOp,
    "Acosh": graph.AcoshOp,
    "Asin": graph.AsinOp,
    "Asinh": graph.AsinhOp,
    "Atan": graph.AtanOp,
    "Atanh": graph.AtanhOp,
    "BitwiseNot": graph.NotOp,
    "Ceil": graph.CeilOp,
    "Cos": graph.CosOp,
    "Cosh": graph.CoshOp,
    "Erf": graph.ErfOp,
    "Exp": graph.ExpOp,
    "Floor": graph.FloorOp,
    "IsNaN": graph.IsNanOp,
    "Log": graph.LogOp,
    "Neg": graph.NegOp,
    "Not": graph.NotOp,
    "Relu": graph.ReluOp,
    "Round": graph.RoundOp,
    "Sigmoid": graph.SigmoidOp,
    "Sign": graph.SignOp,
    "Sin": graph.SinOp,
    "Sinh": graph.SinhOp,
    "Softplus": graph.SoftplusOp,
    "Sqrt": graph.SqrtOp,
    "Tan": graph.TanOp,
    "Tanh": graph.TanhOp,
}

BINARY: Mapping[str, type[BinaryOp]] = {
    "Add": graph.AddOp,
    "And": graph.AndOp,
    "BitwiseAnd": graph.AndOp,
    "BitwiseOr": graph.OrOp,
    "BitwiseXor": graph.XorOp,
    "Div": graph.DivideOp,
    "Equal": graph.EqualOp,
    "Less": graph.LessOp,
    "LessOrEqual": graph.LessEqualOp,
    "Mul": graph.MultiplyOp,
    "Or": graph.OrOp,
    "Pow": graph.PowerOp,
    "Sub": graph.SubtractOp,
    "Xor": graph.XorOp,
}

SWAPPED: Mapping[str, type[BinaryOp]] = {"Greater": graph.LessOp, "GreaterOrEqual": graph.LessEqualOp}

CHAINS: Mapping[str, type[BinaryOp]] = {
    "Max": graph.MaximumOp,
    "Mean": graph.AddOp,
    "Min": graph.MinimumOp,
    "Sum": graph.AddOp,
}
