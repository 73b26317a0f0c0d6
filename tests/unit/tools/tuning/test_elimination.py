"""Cheapest choices for the nodes of a graph: by elimination as by trying all, where a graph is simple."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from stepwell.tools.tuning.graph.elimination import cheapest_choices, total_of
from tests.support.samples import examples

Problem = tuple[dict[str, list[float]], dict[tuple[str, str], list[list[float]]]]


def tried_all(problem: Problem) -> float:
    """The least cost of all choices."""
    costs, pairs = problem
    each = [range(len(own)) for own in costs.values()]
    return min(total_of(dict(zip(costs, chosen, strict=True)), costs, pairs) for chosen in product(*each))


@st.composite
def problems(draw: st.DrawFn, most_pairs: int) -> Problem:
    """Up to six nodes of up to three choices with some pairs, whose costs are whole numbers."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    number = st.integers(0, 20).map(float)
    costs = {str(n): draw(st.lists(number, min_size=size, max_size=size)) for n, size in enumerate(sizes)}
    node = st.sampled_from([*costs])
    found: dict[tuple[str, str], list[list[float]]] = {}
    for a, b in draw(st.lists(st.tuples(node, node), max_size=most_pairs, unique=True)):
        row = st.lists(number, min_size=len(costs[b]), max_size=len(costs[b]))
        found[a, b] = draw(st.lists(row, min_size=len(costs[a]), max_size=len(costs[a])))
    return costs, found


@examples(30)
@given(problems(most_pairs=4))
def test_elimination_finds_the_cheapest(problem: Problem) -> None:
    """Four pairs leave no node with three neighbours after nodes with fewer are gone."""
    costs, pairs = problem
    chosen = cheapest_choices(costs, pairs, 1)[0]
    assert chosen.keys() == costs.keys()
    assert total_of(chosen, costs, pairs) == tried_all(problem)


@examples(15)
@given(problems(most_pairs=15))
def test_a_beam_finds_choices_of_any_graph(problem: Problem) -> None:
    """In order of their costs, and all different; at most 3**6 choices would be 729, the beam has 16."""
    costs, pairs = problem
    plans = cheapest_choices(costs, pairs, 3)
    totals = [total_of(plan, costs, pairs) for plan in plans]
    assert all(plan.keys() == costs.keys() for plan in plans)
    assert totals[0] >= tried_all(problem)
    assert len({tuple(plan.items()) for plan in plans}) == len(plans)


def test_layout_changes_decide_against_the_fastest_node() -> None:
    """A chain of three: the middle one is faster in blocks, which two layout changes undo."""
    costs = {"a": [1.0, 9.0], "b": [5.0, 4.0], "c": [1.0, 9.0]}
    change = [[0.0, 1.0], [1.0, 0.0]]
    pairs = {("a", "b"): change, ("b", "c"): change}
    first, second, third = cheapest_choices(costs, pairs, 3)
    assert first == {"a": 0, "b": 0, "c": 0} and total_of(first, costs, pairs) == 7.0
    assert second == {"a": 0, "b": 1, "c": 0} and total_of(second, costs, pairs) == 8.0
    assert total_of(third, costs, pairs) >= 8.0
