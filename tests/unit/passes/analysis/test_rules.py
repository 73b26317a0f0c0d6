"""Each rule of simplification is proved over all integers by z3, which `make proofs` installs."""

# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import ast
import re
from itertools import product
from typing import Any

import pytest

from stepwell.runtime.integers.simplification import RULES, Rule

z3: Any = pytest.importorskip("z3", reason="z3 is not installed: `make proofs` does so")
_NUMBERS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64)
_STEPS = 20_000_000
"""The most steps of z3, the same at any load: five seconds on a quiet core. The longest proof takes 2e6."""


def _term(text: str, values: dict[str, Any]) -> Any:
    source = text
    for word, sign in (("floordiv", "//"), ("ceildiv", "@"), ("mod", "%")):
        source = source.replace(f" {word} ", f" {sign} ")
    return _of(ast.parse(source, mode="eval").body, values)


def _of(node: ast.expr, values: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int(number)):
            return z3.IntVal(number)
        case ast.Name(id=name):
            return values[name]
        case ast.BoolOp(values=parts):
            return z3.And(*(_of(part, values) for part in parts))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            a, b = _of(left, values), _of(right, values)
            return a < b if isinstance(op, ast.Lt) else a <= b if isinstance(op, ast.LtE) else a > b
        case ast.Call(func=ast.Name(id=name), args=[left, right]):
            a, b = _of(left, values), _of(right, values)
            return z3.If(a <= b, a, b) if name == "min" else z3.If(a <= b, b, a)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _of(left, values), _of(right, values)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv():
                    return a / b  # of a positive number: rounded down
                case ast.MatMult():
                    return -((-a) / b)
                case _:
                    return a % b
        case _:
            raise AssertionError(ast.dump(node))


def _counterexample(rule: Rule, numbers: dict[str, Any]) -> Any:
    """A model in which the sides differ; None where there is none, `unknown` where z3 gives up."""
    values = {name: z3.Int(name) for name in "xyz"} | numbers
    solver = z3.Solver()
    solver.set("rlimit", _STEPS)
    if rule.condition:
        solver.add(_term(rule.condition, values))
    solver.add(_term(rule.left, values) != _term(rule.right, values))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    return solver.model() if answer == z3.sat else "unknown"


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.left} -> {rule.right}")
def test_a_rule_holds_for_all_integers(rule: Rule) -> None:
    text = f"{rule.left} {rule.right} {rule.condition}"
    names = [name for name in "cd" if re.search(rf"\b{name}\b", text)]
    for numbers in product(_NUMBERS, repeat=len(names)):
        constants = {name: z3.IntVal(n) for name, n in zip(names, numbers, strict=True)}
        assert _counterexample(rule, constants) is None, (rule, numbers)


def test_a_wrong_rule_has_a_counterexample() -> None:
    wrong = Rule("(x * c + y) floordiv (c * d)", "x floordiv d", "c > 0 and d > 0")
    found = _counterexample(wrong, {"c": z3.IntVal(4), "d": z3.IntVal(2)})
    assert found not in (None, "unknown")
