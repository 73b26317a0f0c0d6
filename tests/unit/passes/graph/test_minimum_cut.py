"""The division of ops by cost, against all divisions of small programs."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepwell.passes.graph.placement.minimum_cut import ENDLESS, SINK, SOURCE, Network
from tests.support.samples import examples


@examples(60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_no_division_costs_less(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    ends = [SOURCE, SINK, *range(2, 2 + count)]
    edges = [
        (int(a), int(b), int(rng.integers(0, 9)))
        for a, b in rng.choice(ends, (3 * count, 2))
        if a not in (b, SINK) and b != SOURCE
    ]
    network = Network()
    for _ in range(count):
        network.node()
    for edge in edges:
        network.edge(*edge)
    found = network.source_side()

    def cost(sides: list[bool]) -> int:
        return sum(capacity for a, b, capacity in edges if sides[a] and not sides[b])

    least = min(cost([True, False, *others]) for others in product([False, True], repeat=count))
    assert found[SOURCE] and not found[SINK] and cost(found) == least


def test_edges_without_end_hold() -> None:
    network = Network()
    node = network.node()
    network.edge(SOURCE, node, 1)
    network.edge(node, SINK, ENDLESS)
    assert network.source_side() == [True, False, False]
