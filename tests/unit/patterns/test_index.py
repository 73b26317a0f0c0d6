"""The index of a table: no match is lost, and what composites change is seen by the patterns after them."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from xdsl.ir import SSAValue

from stepwell.patterns import Pattern, dominates, is_constant, is_let, is_op, is_var, match, wildcard
from stepwell.patterns.groups import Duplicate
from stepwell.patterns.index import PatternIndex
from stepwell.patterns.partitioning import TableRow, partition, partition_table
from tests.patterns import Graph, elementwise

UNARY = ("relu", "tanh", "neg")
BINARY = ("add", "subtract", "multiply", "divide")


def a_graph(draw: Random, ops: int = 14) -> Graph:
    """Unary and binary ops on two arguments, a constant, and what went before."""
    names, lines = ["x", "y"], list[str]()
    for number in range(ops):
        operands = [draw.choice(names[-5:]) for _ in range(draw.randint(1, 2))]
        kind = draw.choice(UNARY if len(operands) == 1 else BINARY)
        names.append(f"v{number}")
        lines.append(f"v{number} = {kind} {', '.join(operands)}")
    return elementwise("; ".join(lines), returns=f"{names[-1]}, {names[-2]}")


def a_pattern(draw: Random, depth: int, made: list[Pattern]) -> Pattern:
    """Any kind of pattern; now and then one that was made before, which means the same node."""

    def inner() -> Pattern:
        return a_pattern(draw, depth - 1, made)

    kinds = ["leaf"] * 2 + (
        ["unary", "binary", "binary", "or", "and", "not", "type", "up", "let", "any"] * (depth > 0)
    )
    match draw.choice(kinds):
        case "leaf":
            found = draw.choice([wildcard, wildcard, is_var, is_constant])()
        case "unary":
            found = is_op(f"graph.{draw.choice(UNARY)}")(inner())
        case "binary":
            found = is_op(f"graph.{draw.choice(BINARY)}")(inner(), inner())
        case "or":
            found = inner().optional(lambda p: is_op(f"graph.{draw.choice(UNARY)}")(p)) | inner()
        case "and":
            found = inner() & inner()
        case "not":
            found = ~inner() & inner()
        case "type":
            found = inner().has_dtype(draw.choice(["float32", "int8"])).has_shape((4, "N"))
        case "up":
            found = dominates(inner(), is_op("trait:elementwise") | inner(), inner())
        case "let":
            found = is_let(draw.choice([wildcard(), is_var()]), inner(), inner())
        case _:
            found = is_op("trait:elementwise")(None).has_attr({})
    if made and draw.random() < 0.2:
        return draw.choice(made)
    made.append(found)
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(40))
def test_no_match_is_lost(seed: int) -> None:
    draw = Random(seed)
    graph = a_graph(draw)
    patterns = [a_pattern(draw, 3, []) for _ in range(25)]
    index = PatternIndex(patterns)
    index.read_block(graph.func.body.block)
    for op in graph.func.body.block.ops:
        matched = {i for i, pattern in enumerate(patterns) if _matches_at(pattern, op.results)}
        assert matched <= set(index.candidates(op))


def _matches_at(pattern: Pattern, values: Iterable[SSAValue]) -> bool:
    return any(match(pattern, value) is not None for value in values)


def test_what_cannot_match_is_seen_at_any_depth() -> None:
    graph = elementwise("a = relu x; b = tanh a; c = neg b; d = add c, y", returns="d")
    deep = [is_op("graph.neg")(is_op("graph.tanh")(is_op(f"graph.{name}")(wildcard()))) for name in UNARY]
    ends = [is_op("graph.add")(pattern, is_var()) for pattern in deep]
    above = [dominates(is_op(f"graph.{name}")(None), is_op("trait:elementwise"), ends[0]) for name in BINARY]
    index = PatternIndex([*ends, *above])
    index.read_block(graph.func.body.block)
    assert index.candidates(graph.first("graph.add")) == (0,)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(20))
def test_a_table_finds_what_its_rows_find_one_by_one(seed: int) -> None:
    draw = Random(seed)
    rows = [TableRow(str(i), _chain(draw)) for i in range(12)]
    together, apart = a_graph(Random(seed)), a_graph(Random(seed))
    partition_table(rows, together.func, None, Duplicate.CHEAP)
    for row in rows:
        partition(row.pattern, apart.func, name=row.name)
    assert str(together.module) == str(apart.module)


def _chain(draw: Random) -> Pattern:
    """Ops and composites in a row, so that what earlier rows made matters to later ones."""
    names = [f"graph.{name}" for name in (*UNARY, *BINARY)] + ["graph.composite"] * 3
    found = is_op(draw.choice(names))(None)
    for _ in range(draw.randint(0, 2)):
        name = draw.choice(names)
        unary = is_op(name)(found)
        found = unary | is_op(name)(found, wildcard()) | is_op(name)(wildcard(), found)
    return found
