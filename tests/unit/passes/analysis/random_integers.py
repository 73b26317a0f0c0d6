"""Random expressions of integers against their values, and instances of the rules of simplification."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from random import Random

from stepwell.passes.analysis import Analyzer
from stepwell.runtime.integers.simplification import Rule

_OPERATORS = ("+", "+", "-", "*", "floordiv", "floordiv", "mod", "mod", "ceildiv", "min", "max")


def _expression(random: Random, names: list[str], depth: int) -> str:
    """A random expression; divisors are positive numbers."""
    if depth == 0 or random.random() < 0.2:
        return random.choice([*names, str(random.randint(-6, 9))])
    op = random.choice(_OPERATORS)
    left = _expression(random, names, depth - 1)
    if op in ("floordiv", "mod", "ceildiv"):
        return f"(({left}) {op} {random.randint(1, 8)})"
    if op == "*":
        return f"(({left}) * {random.randint(-4, 8)})"
    right = _expression(random, names, depth - 1)
    return f"{op}({left}, {right})" if op in ("min", "max") else f"(({left}) {op} ({right}))"


def value_of(text: str, values: Mapping[str, int]) -> int:
    """The value of an expression, by Python's own arithmetic."""
    source = text.replace(" floordiv ", " // ").replace(" mod ", " % ").replace(" ceildiv ", " @ ")
    return _value(ast.parse(source, mode="eval").body, values)


def _value(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(operand=operand):
            return -_value(operand, values)
        case ast.Call(func=ast.Name(id=name), args=args):
            return (min if name == "min" else max)(_value(arg, values) for arg in args)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_value(left, values), _value(right, values))
        case _:
            raise AssertionError(ast.dump(node))


_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.MatMult: lambda a, b: -(-a // b)},
}


def expect_sound(random: Random) -> None:
    """Compare what an analyzer says of a random expression with all its values."""
    ranges: dict[str, tuple[int, int]] = {}
    for name in ("i", "j"):
        low = random.choice([0, 0, 0, -7, 3])
        ranges[name] = low, low + random.randint(0, 17)
    sizes = ["N"] if random.random() < 0.3 else []
    text = _expression(random, [*ranges, *sizes], 3)
    analyzer = Analyzer(ranges)
    points = [
        dict(zip([*ranges, *sizes], point, strict=True))
        for point in product(*(range(a, b + 1) for a, b in ranges.values()), *([range(6)] if sizes else []))
    ]
    values = [value_of(text, point) for point in points]
    low, high = analyzer.bounds(text)
    simpler = str(analyzer.simplify(text))
    modulus, remainder = analyzer.modular(text)
    bound = random.randint(-20, 40)
    answer = analyzer.proves(f"({text}) <= {bound}")
    for point, value in zip(points, values, strict=True):
        assert low is None or value_of(str(low), point) <= value, (text, ranges, point, low)
        assert high is None or value <= value_of(str(high), point), (text, ranges, point, high)
        assert value_of(simpler, point) == value, (text, ranges, point, simpler)
        assert value == remainder if modulus == 0 else value % modulus == remainder, (text, point)
        assert answer is None or (value <= bound) == answer, (text, ranges, point, bound)


def instances_of(rule: Rule) -> Iterator[tuple[Analyzer, str, str]]:
    """Both sides of a rule for some constants, with ranges in which the condition holds."""
    for c, d in ((2, 3), (4, 2), (16, 5)):
        numbers = {"c": c, "d": d, "z": 3}
        ranges = _RANGES.get(rule.condition, lambda c, d: {"x": (-20, 40), "y": (-9, 9)})(c, d)
        analyzer = Analyzer(ranges)
        yield analyzer, _with_numbers(rule.left, numbers), _with_numbers(rule.right, numbers)


_RANGES = {
    "c > 0 and d > 0 and 0 <= y and y < c": lambda c, d: {"x": (-20, 40), "y": (0, c - 1)},
    "c > 0 and z * c <= x and x < z * c + c": lambda c, d: {"x": (3 * c, 4 * c - 1)},
    "c > 0 and z * c - c < x and x <= z * c": lambda c, d: {"x": (2 * c + 1, 3 * c)},
    "0 <= x and x < c": lambda c, d: {"x": (0, c - 1)},
    "x <= y": lambda c, d: {"x": (-5, 4), "y": (4, 9)},
}


def _with_numbers(text: str, numbers: Mapping[str, int]) -> str:
    return re.sub(r"\b[cdz]\b", lambda match: str(numbers[match[0]]), text)
