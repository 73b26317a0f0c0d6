"""`te.strategy`: ops by formulas of plugins, where they are cheaper, forced, or planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import stepwell as sw
from stepwell import __version__, te
from stepwell.dialects.plugins.strategies import STRATEGIES
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.tools.api.strategies import strategies_of, strategies_text
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from stepwell.tools.records.database import write_records
from stepwell.tools.records.plans import graph_digest
from stepwell.tools.records.record import Plan

NET = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[1, 16, 6, 6] x) => (float[1, 16, 6, 6] y) {
    a = Conv <pads = [1, 1, 1, 1]> (x, w)
    b = Relu (a)
    y = Conv (b, v)
}
"""
X = np.random.default_rng(0).standard_normal((1, 16, 6, 6), np.float32)


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """The strategies of one test."""
    before = STRATEGIES.snapshot()
    yield
    STRATEGIES.restore(before)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = onnx.parser.parse_model(NET)
    for node, name in zip(model.graph.node, ("first", "relu", "point"), strict=True):
        node.name = name
    draw = np.random.default_rng(1)
    for name, points in (("w", 3), ("v", 1)):
        filters = draw.standard_normal((16, 16, points, points)).astype(np.float32) / 8
        model.graph.initializer.append(numpy_helper.from_array(filters, name))
    path = tmp_path_factory.mktemp("strategy") / "net.onnx"
    onnx.save(model, str(path))
    return path


def add_sums(cost: float | None, applies: Callable[[Any, Any], str | None] | None = None) -> None:
    """A strategy for convolutions whose results are 1 too large, so that they show where it was used."""

    @te.strategy("graph.conv", name="sums", cost=cost, applies=applies)
    def sums(  # pyright: ignore[reportUnusedFunction]
        x: te.Tensor, w: te.Tensor, *, strides: list[int], dilations: list[int], pads: list[int]
    ) -> te.Tensor:
        product = te.library.conv(x, w, strides, pads)
        return te.compute(product.shape, lambda *i: product[i] + 1, name="sums")


def is_by_sums(net: Path, node: str, **options: Any) -> bool:
    """Whether a node is computed by `sums`, by the results and by the table."""
    rows = strategies_of(net, CompileOptions(**options))
    chosen = {row.node: row.strategy for row in rows if row.state == "chosen" and row.op == "graph.conv"}
    found: Any = sw.compile(net, threads=1, use_cache=False, **options)(X)
    wanted: Any = sw.compile(net, threads=1, strategies=["*=default"], use_cache=False)(X)
    if chosen.get("point") == "sums" and chosen.get("first") != "sums":
        np.testing.assert_allclose(found, wanted + 1, rtol=1e-3, atol=1e-4)
    if "sums" not in chosen.values():
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    return chosen.get(node) == "sums"


def test_it_is_chosen_where_it_costs_less_than_all_others(net: Path) -> None:
    def only_points(op: Any, target: Any) -> str | None:
        assert target.f32_lanes >= 1
        return "not of 1x1" if op.pads.get_values()[0] else None

    add_sums(1.0, only_points)
    assert is_by_sums(net, "point") and not is_by_sums(net, "first")
    text = strategies_text(strategies_of(net, CompileOptions()))
    assert "not of 1x1" in text and "times the cycles" in text


def test_one_that_costs_more_is_used_where_a_user_says_so(net: Path) -> None:
    add_sums(1e12)
    assert not is_by_sums(net, "point")
    assert is_by_sums(net, "point", strategies=["point=sums"])
    rows = strategies_of(net, CompileOptions(strategies=["point=sums"]))
    states = {(row.node, row.strategy): row.state for row in rows}
    assert states["point", "product"] == "sums is forced"


def test_one_without_an_estimate_says_how_it_is_chosen(net: Path) -> None:
    add_sums(None)
    states = {(row.node, row.strategy): row.state for row in strategies_of(net, CompileOptions())}
    assert states["point", "sums"] == "no estimates to compare: `--strategy point=sums` chooses it"


def test_a_plan_of_a_database_chooses_it(net: Path, tmp_path: Path) -> None:
    add_sums(1e12)
    compilation = start(net, CompileOptions())
    digests = graph_digest(compilation.module), target_digest(compilation.ctx.target)
    choices = {"strategies": ["*=sums?"]}
    plan = Plan(*digests, machine_name(), 1, choices, (1.2, 1.1, 1.3), __version__)
    write_records(tmp_path / "t.jsonl", [plan])
    found: Any = sw.compile(net, threads=1, tuning_db=[str(tmp_path / "t.jsonl")], use_cache=False)(X)
    forced: Any = sw.compile(net, threads=1, strategies=["*=sums"], use_cache=False)(X)
    np.testing.assert_array_equal(found, forced)
    STRATEGIES.restore({})  # the plugin is not loaded: the compiler's own passes choose
    plain: Any = sw.compile(net, threads=1, tuning_db=[str(tmp_path / "t.jsonl")], use_cache=False)(X)
    assert not np.allclose(found, plain)


def test_an_op_without_a_table_has_a_default(tmp_path: Path) -> None:
    @te.strategy("graph.relu", name="twice", cost=1.0)
    def twice(x: te.Tensor) -> te.Tensor:  # pyright: ignore[reportUnusedFunction]
        return te.compute(x.shape, lambda *i: te.maximum(x[i], 0) * 2)

    text = NET.replace("16, 6, 6", "N").replace("1, N", "N")
    head, _ = text.split("a = Conv", 1)
    model = onnx.parser.parse_model(head + "y = Relu (x)\n}")
    model.graph.node[0].name = "relu"
    onnx.save(model, str(path := tmp_path / "relu.onnx"))
    found = [(row.strategy, row.state) for row in strategies_of(path, CompileOptions())]
    assert found[0] == ("default", "chosen") and "--strategy relu=twice" in found[1][1]
    result: Any = sw.compile(path, strategies=["relu=twice"])(np.array([-1, 3], np.float32))
    np.testing.assert_array_equal(result, [0, 6])  # for all sizes


BAD: Sequence[tuple[dict[str, Any], str, str]] = [
    ({"op": "graph.convolution"}, "bad-plugin", "there is no op 'graph.convolution'"),
    ({"op": "graph.relu"}, "bad-plugin", "graph.relu has 1 operands (input), the function takes 2"),
    ({"op": "graph.concat"}, "bad-plugin", "graph.concat has any number of operands"),
    ({"name": "a=b"}, "bad-plugin", "a name without = ? * and quotes"),
    ({"function": lambda x, w, *, strides, pads: x}, "bad-plugin", "does not take `dilations`"),
    ({"function": lambda x, w, *, stride: x}, "bad-plugin", "graph.conv has no property `stride`"),
]


@pytest.mark.parametrize(("change", "code", "message"), BAD)
def test_functions_that_do_not_fit(change: dict[str, Any], code: str, message: str) -> None:
    fitting: Any = lambda x, w, *, strides, dilations, pads: x  # noqa: E731  # as the bad ones are written
    given: dict[str, Any] = {"op": "graph.conv", "name": "mine", "function": fitting, **change}
    with pytest.raises(sw.StepwellError) as error:
        te.strategy(given["op"], name=given["name"])(given["function"])
    assert error.value.code == code and message in error.value.message


@pytest.mark.parametrize(
    ("keywords", "code", "message"),
    [
        ({"cost": lambda op, target: "cheap"}, "plugin-failed", "the cost is 'cheap', expected a number"),
        ({"cost": lambda op, target: float("nan")}, "plugin-failed", "the cost is nan"),
        ({"applies": lambda op, target: True}, "plugin-failed", "applies returned True, expected None or"),
        ({"applies": lambda op, target: op.no}, "plugin-failed", "has no attribute 'no'"),
        ({"name": "rows"}, "name-taken", "there is a strategy 'graph.conv: rows' already"),
        ({"name": "default"}, "name-taken", "there is a strategy 'graph.conv: default' already"),
    ],
)
def test_estimates_and_conditions_that_fail(
    net: Path, keywords: dict[str, Any], code: str, message: str
) -> None:
    given: dict[str, Any] = {"name": "mine", **keywords}

    @te.strategy("graph.conv", **given)
    def mine(  # pyright: ignore[reportUnusedFunction]
        x: te.Tensor, w: te.Tensor, *, strides: list[int], dilations: list[int], pads: list[int]
    ) -> te.Tensor:
        return te.library.conv(x, w, strides, pads)

    with pytest.raises(sw.StepwellError) as error:
        sw.compile(net, use_cache=False)
    assert error.value.code == code and message in error.value.message
