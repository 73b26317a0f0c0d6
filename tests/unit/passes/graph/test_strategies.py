"""Strategies: each computes the same, those that do not apply say why, tables say which one was chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import stepwell as sw
from stepwell.tools.api.strategies import strategies_of, strategies_text
from stepwell.tools.driver.options import CompileOptions

SHAPES = {"w": (32, 32, 3, 3), "v": (64, 32, 1, 1), "u": (64, 64, 3, 3)}
NET = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[1, 32, 12, 12] x, float[4] roi, float[4] scales) => (float[1, 64, 12, 12] z) {
    a = Conv <pads = [1, 1, 1, 1]> (x, w)
    b = Relu (a)
    c = Conv (b, v)
    d = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (c, u)
    z = Resize <mode = "linear"> (d, "", factors)
}
"""
NODES = ("first", "relu", "point", "last", "resize")
DRAW = np.random.default_rng(0)
X = DRAW.standard_normal((1, 32, 12, 12), np.float32)


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = NET.replace(", float[4] roi, float[4] scales", "").replace('d, "", factors', "d, , factors")
    model = onnx.parser.parse_model(text)
    for node, name in zip(model.graph.node, NODES, strict=True):
        node.name = name
    draw = np.random.default_rng(1)
    for name, shape in SHAPES.items():
        filters = draw.standard_normal(shape).astype(np.float32) / 16
        model.graph.initializer.append(numpy_helper.from_array(filters, name))
    factors = np.array([1, 1, 2, 2], np.float32)
    model.graph.initializer.append(numpy_helper.from_array(factors, "factors"))
    path = tmp_path_factory.mktemp("strategies") / "net.onnx"
    onnx.save(model, str(path))
    return path


def test_a_table_has_all_ways_and_one_chosen(net: Path) -> None:
    rows = strategies_of(net, CompileOptions(mcpu="x86-64-v3"))
    ops = {
        (row.node, row.op): [each for each in rows if (each.node, each.op) == (row.node, row.op)]
        for row in rows
    }
    nodes = {node: every for (node, op), every in ops.items() if op != "linalg_ext.winograd_conv"}
    assert list(nodes) == ["first", "point", "last", "resize"]
    for every in ops.values():
        assert [row.state for row in every].count("chosen") == 1
        assert all(row.state for row in every)
    convolution = {row.strategy: row for row in nodes["first"]}
    assert list(convolution) == ["product", "rows", "blocks", "winograd2", "winograd4"]
    assert convolution["product"].state == "not 1x1 without strides, in one group"
    assert (convolution["winograd4"].cycles or 0) < (convolution["blocks"].cycles or 0)
    assert {row.strategy for row in nodes["resize"]} >= {"gather", "last-axis-first"}
    text = strategies_text(rows)
    assert "a window of 1x1, Winograd's are 3x3" in text
    assert text.count("resize") == 2  # the node, the op


def test_a_forced_strategy_is_reported(net: Path) -> None:
    options = CompileOptions(mcpu="x86-64-v3", strategies=("first=rows", "last=blocks"))
    states = {(row.node, row.strategy): row.state for row in strategies_of(net, options)}
    assert states["first", "rows"] == "chosen"
    assert states["first", "blocks"] == "rows is forced"
    assert states["last", "blocks"] == "chosen"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "way", ["first=rows", "first=blocks", "first=winograd2", "first=winograd4", "last=rows"]
)
def test_each_way_computes_the_same(net: Path, way: str) -> None:
    forced = sw.compile(net, strategies=[way], threads=1)
    node, _, name = way.partition("=")
    states = {
        (row.node, row.strategy): row.state for row in strategies_of(net, CompileOptions(strategies=[way]))
    }
    assert states[node, name] == "chosen"
    found: Any = forced(X)
    wanted: Any = sw.compile(net, opt_level=0, threads=1)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategies": ["first=wino"]}, "strategy 'wino' of first: no such strategy"),
        ({"strategies": ["fist=rows"]}, "strategy of 'fist': no such node has several"),
        ({"strategies": ["last=winograd2"]}, "does not apply: strides [2, 2]"),
        ({"strategies": ["rows"]}, "a strategy is NODE=NAME, found 'rows'"),
        ({"strategies": ["first=winograd2"], "winograd": "off"}, "winograd-conv does not run"),
        ({"strategies": ["first=rows"], "opt_level": 1}, "convert-layout does not run"),
    ],
)
def test_bad_strategies(net: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(sw.StepwellError) as error:
        sw.compile(net, **options)  # pyright: ignore[reportArgumentType]  # names of options
    assert error.value.code == "bad-option"
    assert message in error.value.message


def test_a_program_of_level_3_has_none(tmp_path: Path) -> None:
    path = tmp_path / "loops.mlir"
    program = sw.parse(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
    )
    path.write_text(str(program.to("loops")))
    with pytest.raises(sw.StepwellError, match="computed as it is written"):
        strategies_of(path, CompileOptions())
