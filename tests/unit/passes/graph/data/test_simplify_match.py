"""`simplify-match`: the same case of the same value, in as few tests as can be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.dialects import adt
from stepwell.dialects.graph import ConstantOp
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values import Data
from tests.support.random_matches import NUMBER, Matches, Pattern, Type, Value, fits, pattern_text, text_of
from tests.support.samples import examples

L, N = "!adt.data<@List, tensor<i64>>", NUMBER


def case_text(number: int, pattern: Pattern, type: Type, matches: Matches) -> str:
    """A case that yields its number, and a sum of what it binds."""
    types = matches.types_bound(pattern, type)
    names = [f"%b{number}_{n}: {text_of(of)}" for n, of in enumerate(types)]
    lines = [f"%c{number} = graph.constant dense<{1000 + number}> : {N}"]
    total = f"%c{number}"
    for n, of in enumerate(types):
        if of == NUMBER:
            lines += [
                f"%w{number}_{n} = graph.constant dense<{n + 2}> : {N}",
                f"%p{number}_{n} = graph.multiply %b{number}_{n}, %w{number}_{n} : ({N}, {N}) -> {N}",
                f"%s{number}_{n} = graph.add {total}, %p{number}_{n} : ({N}, {N}) -> {N}",
            ]
            total = f"%s{number}_{n}"
    lines.append(f"graph.yield %c{number}, {total} : {N}, {N}")
    return f"case Of({pattern_text(pattern, names)}) {{\n" + "\n".join(lines) + "\n}"


def expected(patterns: list[Pattern], value: Value) -> list[int] | None:
    """What the case yields that fits a value; None where none does."""
    for number, pattern in enumerate(patterns):
        bound: list[Value] = []
        if fits(pattern, value, bound):
            products = (
                (n + 2) * int(each) for n, each in enumerate(bound) if not isinstance(each, Data | tuple)
            )
            return [1000 + number, 1000 + number + sum(products)]
    return None


def found(module: stepwell.Module, value: Value) -> list[int] | None:
    try:
        return [int(each) for each in module.interpret(Data("Of", (value,)))]
    except StepwellError as error:
        assert error.code == "no-case"
        return None


@examples(30)
@given(seed=st.integers(0, 2**32))
def test_the_same_case_is_taken(seed: int) -> None:
    random = Random(seed)
    matches = Matches(random)
    type = matches.type()
    patterns = [matches.pattern(type) for _ in range(random.randint(1, 6))]
    cases = " ".join(case_text(n, pattern, type, matches) for n, pattern in enumerate(patterns))
    text = f"""{matches.definitions()}
adt.data @Root {{
  adt.constructor @Of({text_of(type)})
}}
func.func @main(%v: !adt.data<@Root>) -> ({N}, {N}) {{
  %r, %s = adt.match partial %v : !adt.data<@Root> -> ({N}, {N}) {cases}
  func.return %r, %s : {N}, {N}
}}"""
    module = stepwell.parse(text).run("simplify-match")
    left = [op for op in module.op.walk() if isinstance(op, adt.MatchOp)]
    assert all(part.fits_all for op in left for pattern in op.patterns for part in pattern.parts)
    assert not any(pattern.kind == "()" for op in left for pattern in op.patterns)
    again = stepwell.parse(str(module)).run("simplify-match")
    assert str(again) == str(module)
    for _ in range(10):
        value = matches.value(type)
        assert found(module, value) == expected(patterns, value), (text, value)


def constants(module: stepwell.Module) -> Counter[str]:
    return Counter(str(op.value) for op in module.op.walk() if isinstance(op, ConstantOp))


def listed(*numbers: int) -> Data:
    """A list as data."""
    value = Data("Nil", ())
    for number in reversed(numbers):
        value = Data("Cons", (np.int64(number), value))
    return value


SHARED = f"""
func.func @main(%xs: {L}, %ys: {L}, %k: {N}) -> {N} {{
  %p = graph.tuple %xs, %ys : {L}, {L}
  %r = adt.match %p : tuple<{L}, {L}> -> ({N}) case (Cons(%x: {N}, %t: {L}), Cons(%y: {N}, %u: {L})) {{
    %a = graph.multiply %x, %y : ({N}, {N}) -> {N}
    %b = graph.add %a, %k : ({N}, {N}) -> {N}
    %c = graph.call @main(%t, %u, %b) : ({L}, {L}, {N}) -> {N}
    graph.yield %c : {N}
  }} case (%v: {L}, %w: {L}) {{
    %n = graph.call @length<{N}>(%v) : ({L}) -> {N}
    %m = graph.call @length<{N}>(%w) : ({L}) -> {N}
    %d = graph.subtract %n, %m : ({N}, {N}) -> {N}
    %hundred = graph.constant dense<100> : {N}
    %h = graph.multiply %d, %hundred : ({N}, {N}) -> {N}
    %s = graph.add %h, %k : ({N}, {N}) -> {N}
    graph.yield %s : {N}
  }}
  func.return %r : {N}
}}
"""


def test_a_shared_case_is_written_once() -> None:
    module = stepwell.parse(SHARED).run("link-prelude,simplify-match")
    assert constants(module)["dense<100> : tensor<i64>"] == 1
    for xs, ys in (([2, 3], [5, 7]), ([2, 3, 4], [5]), ([], [1, 1])):
        dot = sum(x * y for x, y in zip(xs, ys, strict=False))
        (result,) = module.interpret(listed(*xs), listed(*ys), np.int64(1))
        assert int(result) == 1 + dot + 100 * (max(len(xs) - len(ys), 0) - max(len(ys) - len(xs), 0))


@pytest.mark.sample(3)
@pytest.mark.parametrize("executor", ["native", "vm"])
def test_a_shared_case_runs_compiled(executor: Any, tmp_path: Path) -> None:
    (tmp_path / "shared.mlir").write_text(SHARED)
    model: Any = stepwell.compile(tmp_path / "shared.mlir", executor=executor)
    assert model([2, 3, 4], [5], 1) == 11 + 200
    long = [1] * 20_000
    assert model(long, long, 0) == 20_000, "the call is in tail position still"


def nested(depth: int) -> str:
    """A match on a pattern of so many levels, and what fits nothing else."""
    pattern = "Z"
    for _ in range(depth):
        pattern = f"S({pattern})"
    return f"""
func.func @main(%n: !adt.data<@Nat>) -> {N} {{
  %yes = graph.constant dense<1> : {N}
  %no = graph.constant dense<0> : {N}
  %r = adt.match %n : !adt.data<@Nat> -> ({N}) case {pattern} {{
    graph.yield %yes : {N}
  }} case _ {{
    graph.yield %no : {N}
  }}
  func.return %r : {N}
}}"""


def natural(number: int) -> Data:
    value = Data("Z", ())
    for _ in range(number):
        value = Data("S", (value,))
    return value


def test_deep_patterns_do_not_nest_matches() -> None:
    module = stepwell.parse(nested(60)).run("simplify-match")
    depths = [len(line) - len(line.lstrip()) for line in str(module).splitlines()]
    assert max(depths) < 2 * 40
    assert [int(module.interpret(natural(n))[0]) for n in (0, 33, 59, 60, 61)] == [0, 0, 0, 1, 0]


def test_parts_in_sight_are_not_tested() -> None:
    module = stepwell.parse(f"""
func.func @main(%x: {N}, %l: {L}) -> {N} {{
  %m = adt.make @List::@Cons(%x, %l) : ({N}, {L}) -> {L}
  %r = adt.match %m : {L} -> ({N}) case Nil {{
    %z = graph.constant dense<0> : {N}
    graph.yield %z : {N}
  }} case Cons(%a: {N}, Nil) {{
    graph.yield %a : {N}
  }} case Cons(_, Cons(%b: {N}, _)) {{
    graph.yield %b : {N}
  }}
  func.return %r : {N}
}}""").run("simplify-match,dead-code-elimination")
    names = Counter(op.name for op in module.op.walk())
    assert names["adt.match"] == 1 and names["adt.make"] == 0 and names["graph.constant"] == 0
    assert [int(module.interpret(np.int64(7), each)[0]) for each in (listed(), listed(5, 6))] == [7, 5]
