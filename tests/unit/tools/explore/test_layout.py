"""The layered drawing: nodes do not overlap, it is narrow, cycles end, and its work is linear."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest

from stepwell.tools.explore import layout as layout_module
from stepwell.tools.explore.layers import LONGEST_EDGE, Edge
from stepwell.tools.explore.layout import GAP, WIDEST, Layout, layout

SIZE = (120.0, 30.0)


def chain(count: int) -> tuple[int, list[Edge]]:
    return count, [(i, i + 1) for i in range(count - 1)]


def attention(blocks: int) -> tuple[int, list[Edge]]:
    """Blocks of three branches that join, with a skip connection over each."""
    edges: list[Edge] = []
    for b in range(blocks):
        x = 6 * b
        edges += [(x, x + 1), (x, x + 2), (x, x + 3), (x + 1, x + 4), (x + 2, x + 4), (x + 4, x + 5)]
        edges += [(x + 3, x + 5), (x, x + 6), (x + 5, x + 6)]
    return 6 * blocks + 1, edges


def dense(count: int) -> tuple[int, list[Edge]]:
    """Each node reads the 16 before it."""
    return count, [(i, j) for j in range(count) for i in range(max(0, j - 16), j)]


def random_graph(count: int) -> tuple[int, list[Edge]]:
    pick = random.Random(7)
    return count, [(pick.randrange(j), j) for j in range(1, count) for _ in range(3)]


GRAPHS = {"chain": chain(50), "attention": attention(60), "dense": dense(90), "random": random_graph(150)}


def drawn(graph: tuple[int, list[Edge]]) -> Layout:
    count, edges = graph
    return layout([SIZE] * count, edges)


@pytest.fixture(params=[30_000, 0], ids=["four alignments", "two alignments"])
def alignments(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "MOST_FOR_FOUR", request.param)


@pytest.mark.usefixtures("alignments")
@pytest.mark.parametrize("name", GRAPHS)
def test_nodes_do_not_overlap(name: str):
    drawing = drawn(GRAPHS[name])
    by_layer: dict[float, list[float]] = {}
    for x, y in zip(drawing.x, drawing.y, strict=True):
        by_layer.setdefault(y, []).append(x)
    for xs in map(sorted, by_layer.values()):
        assert all(b - a >= SIZE[0] + GAP - 1e-6 for a, b in zip(xs, xs[1:], strict=False))
    ys = sorted(by_layer)
    assert all(b - a > SIZE[1] for a, b in zip(ys, ys[1:], strict=False))


@pytest.mark.usefixtures("alignments")
@pytest.mark.parametrize("name", GRAPHS)
def test_the_drawing_is_narrow_and_starts_at_zero(name: str):
    drawing = drawn(GRAPHS[name])
    assert drawing.width <= WIDEST * drawing.widest_layer
    assert min(drawing.x) - SIZE[0] / 2 >= -1e-6
    assert max(drawing.x) + SIZE[0] / 2 <= drawing.width + 1e-6
    assert max(drawing.y) + SIZE[1] / 2 == pytest.approx(drawing.height)


def test_a_bend_is_shared_by_the_edges_of_one_tail():
    drawing = layout([SIZE] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 3), (0, 4)])
    assert drawing.routes[4][:-1] == drawing.routes[5][:3]


@pytest.mark.usefixtures("alignments")
def test_edges_go_down_and_a_chain_is_straight():
    drawing = drawn(GRAPHS["attention"])
    assert not any(drawing.back)
    for route, (a, b) in zip(drawing.routes, GRAPHS["attention"][1], strict=True):
        assert route[0] == (drawing.x[a], drawing.y[a])
        assert route[-1] == (drawing.x[b], drawing.y[b])
        assert all(p[1] < q[1] for p, q in zip(route, route[1:], strict=False))
    assert len(set(drawn(GRAPHS["chain"]).x)) == 1


def test_the_blocks_of_a_long_chain_do_not_drift():
    few, many = drawn(attention(5)), drawn(attention(200))
    assert many.width <= 1.2 * few.width


def test_a_source_is_just_above_its_first_user():
    drawing = layout([SIZE] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert drawing.y[4] == drawing.y[2]


def test_a_cycle_is_drawn_with_its_back_edge_marked():
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 3)]
    drawing = layout([SIZE] * 4, edges)
    assert drawing.back == [False, False, True, False, True]
    assert drawing.routes[2][0] == (drawing.x[2], drawing.y[2])
    assert drawing.routes[2][-1] == (drawing.x[0], drawing.y[0])
    assert not drawing.routes[4]


def test_very_long_and_repeated_edges_have_no_route():
    count, edges = chain(LONGEST_EDGE + 3)
    drawing = layout([SIZE] * count, [*edges, (0, count - 1), (0, 1), (0, LONGEST_EDGE)])
    assert [len(route) for route in drawing.routes[-3:]] == [0, 0, LONGEST_EDGE + 1]


def test_nothing_is_drawn_of_nothing():
    assert layout([], []) == Layout([], [], [], [], 0.0, 0.0, 0.0)


def lines_run(work: Callable[[], object]) -> int:
    """The number of lines of the layout and its layers that run."""
    count = 0

    def trace(frame: FrameType, event: str, _: object):
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename.endswith(("layout.py", "layers.py")) else None

    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(earlier)
    return count


@pytest.mark.sample(3)
@pytest.mark.parametrize("make", [attention, dense, chain])
def test_the_work_is_linear(make: Callable[[int], tuple[int, list[Edge]]]):
    few, many = make(100), make(400)
    assert lines_run(partial(drawn, many)) <= 4.6 * lines_run(partial(drawn, few))
