"""Plans: choices for a whole model in a database, by the model's graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from stepwell import __version__
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes.context import PassContext
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import host_target
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import on_level_1
from stepwell.tools.records.database import Database, write_records
from stepwell.tools.records.plans import NODES, choices_text, graph_digest, keys_of, with_plan
from stepwell.tools.records.record import Plan
from stepwell.tools.tuning.graph import node_choices
from stepwell.tools.tuning.graph_plan import chosen_by, search_plan
from stepwell.tools.tuning.in_model import Comparison

RELU = """
func.func @main(%x: tensor<64x64xf32> {graph.name = "x"}) -> (tensor<64x64xf32> {graph.name = "y"}) {
  %y = graph.relu %x : tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %y : tensor<64x64xf32>
}
"""


def program(text: str = RELU) -> Program:
    ctx = StepwellContext()
    return Program(parse_module(ctx, text), ctx)


def plan() -> Plan:
    graph, target = graph_digest(program().module), target_digest(host_target())
    return Plan(graph, target, machine_name(), 1, {"winograd": "fast"}, (1.1, 1.05, 1.15), __version__)


def planned(folder: Path, *plans: Plan, text: str = RELU, **keywords: object) -> CompileOptions:
    write_records(folder / "t.jsonl", plans)
    options = CompileOptions(**keywords)  # pyright: ignore[reportArgumentType]
    return with_plan(program(text).module, options, host_target(), [folder / "t.jsonl"])


def test_a_plan_decides_an_option_that_the_user_left(tmp_path: Path) -> None:
    with PassContext() as context:
        assert planned(tmp_path, plan()).winograd == "fast"
    assert [remark.message for remark in context.remarks] == [
        "tuned plan: winograd = fast, 1.10 times as fast"
    ]
    assert planned(tmp_path, plan(), winograd="off").winograd == "off"
    assert planned(tmp_path, plan(), memory="low").winograd == "auto"
    assert planned(tmp_path, plan(), text=RELU.replace("64x64", "64x65")).winograd == "auto"


@pytest.mark.parametrize(
    "change",
    [
        {"target": "c0"},
        {"graph": "0" * 32},
        {"stepwell": "9.9.9"},
        {"ratio": (1.1, 0.99, 1.2)},
        {"choices": {"winograd": "slow"}},
        {"choices": {"memory": "low"}},
        {"choices": {"winograd": "fast", "use_cache": False}},
    ],
)
def test_a_plan_that_is_not_for_this_model_and_machine_is_not_used(
    tmp_path: Path, change: dict[str, object]
) -> None:
    found = planned(tmp_path, replace(plan(), **change))  # pyright: ignore[reportArgumentType]
    assert found == CompileOptions()


def test_the_plan_with_the_highest_lower_bound_is_used(tmp_path: Path) -> None:
    better = replace(plan(), choices={"required_passes": ["combine-parallel"]}, ratio=(1.2, 1.1, 1.3))
    found = planned(tmp_path, plan(), better, required_passes=["fold-qdq"])
    assert found.winograd == "auto" and tuple(found.required_passes) == ("fold-qdq", "combine-parallel")
    assert chosen_by([plan(), better]) is better
    assert chosen_by([replace(plan(), ratio=(1.1, 0.9, 1.2))]) is None


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    Database(tmp_path / "t.jsonl").append([plan()])
    content = Database(tmp_path / "t.jsonl").read()
    assert content.plans == [plan()]
    found = search_plan(program(), CompileOptions(), 1, Database(tmp_path / "t.jsonl"), content, lambda: 0.0)
    assert found.options.winograd == "fast" and found.notes == ["winograd = fast: 1.10 (1.05-1.15) is used"]


def test_a_choice_that_changes_no_code_gains_nothing() -> None:
    comparison = Comparison(build_image(program(), CompileOptions()), 1)
    try:
        other = build_image(program(), CompileOptions(required_passes=["combine-parallel"]))
        assert comparison.ratio_of(other) == (1.0, 1.0, 1.0)
    finally:
        comparison.close()


@pytest.mark.slow
def test_all_choices_are_compared_and_recorded_once(tmp_path: Path) -> None:
    database = Database(tmp_path / "t.jsonl")
    for _ in range(2):
        found = search_plan(program(), CompileOptions(), 1, database, database.read(), lambda: float("inf"))
        assert len(found.plans) == len(database.read().plans) == 3


def convolutions() -> bytes:
    """A model of three convolutions in a row, two of equal shape."""
    rng = np.random.default_rng(0)
    names = ["x", "a", "b", "y"]
    weights = [
        numpy_helper.from_array(rng.standard_normal((32, 32, 3, 3)).astype(np.float32) / 17, f"w{n}")
        for n in range(2)
    ]
    weights.append(numpy_helper.from_array(rng.standard_normal((32, 32, 1, 1)).astype(np.float32) / 6, "w2"))
    nodes = [
        helper.make_node("Conv", [names[n], f"w{n}"], [names[n + 1]], name=f"conv{n}", pads=[1 - n // 2] * 4)
        for n in range(3)
    ]
    info = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, (1, 32, 28, 28)) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "net", info[:1], info[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model.SerializeToString()


def test_equal_nodes_have_one_key() -> None:
    keys = keys_of(on_level_1(start(convolutions(), CompileOptions())))
    assert keys["conv0"] == keys["conv1"] != keys["conv2"]


def test_strategies_of_nodes_are_a_plan(tmp_path: Path) -> None:
    """A plan by nodes forces strategies at all nodes of a kind, whatever their names are."""
    compilation = start(convolutions(), CompileOptions())
    module, level_1 = compilation.module, on_level_1(compilation)
    key = keys_of(level_1)["conv1"]
    made = Plan(
        graph_digest(module), target_digest(host_target()), machine_name(), 1, {NODES: {key: "rows"}},
        (1.1, 1.05, 1.15), __version__,
    )  # fmt: skip

    def strategies(plan: Plan, **keywords: object) -> list[str]:
        write_records(tmp_path / "t.jsonl", [plan])
        options = CompileOptions(**keywords)  # pyright: ignore[reportArgumentType]
        files = [tmp_path / "t.jsonl"]
        return sorted(with_plan(module, options, host_target(), files, lambda: level_1).strategies)

    assert strategies(made) == ["conv0=rows?", "conv1=rows?"]
    assert strategies(made, strategies=["conv0=blocks"]) == ["conv0=blocks"]
    for choices in ({key: "a b"}, [key], {key: 4}):
        assert not strategies(replace(made, choices={NODES: choices}))
    assert not strategies(replace(made, choices={**made.choices, "winograd": "off"}))
    assert choices_text(made.choices) == "1 kinds of nodes by rows"


@pytest.mark.slow
def test_plans_by_nodes_follow_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are made up: 3x3 convolutions are fastest by rows, and then the 1x1 one needs no blocks."""
    module = on_level_1(start(convolutions(), CompileOptions()))
    keys = keys_of(module)

    def of(self: object, strategy: str) -> dict[str, float]:
        return dict.fromkeys(("conv0", "conv1", "conv2"), 1.0 if strategy == "rows" else 9.0)

    monkeypatch.setattr(node_choices._Times, "of", of)  # pyright: ignore[reportPrivateUsage]
    plans = node_choices.node_plans(convolutions(), CompileOptions(), module, 1, lambda: 1.0)
    assert 1 <= len(plans) <= node_choices.PLANS
    assert plans[0] == {NODES: {keys["conv0"]: "rows", keys["conv2"]: "product"}}
    assert node_choices.node_plans(convolutions(), CompileOptions(), module, 1, lambda: 0.0) == []


@pytest.mark.slow
def test_plans_by_nodes_are_measured_as_whole_models(tmp_path: Path) -> None:
    database = Database(tmp_path / "t.jsonl")
    for _ in range(2):
        found = search_plan(
            convolutions(), CompileOptions(), 1, database, database.read(), lambda: float("inf")
        )
        by_nodes = [plan for plan in found.plans if NODES in plan.choices]
        assert len(by_nodes) <= node_choices.PLANS and len(database.read().plans) == len(found.plans)
        best = chosen_by(found.plans)
        assert best is None or best.ratio[1] > 1.0
