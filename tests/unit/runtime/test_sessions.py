"""Sessions: states between the calls of compiled code, of artifacts, and of the first stage."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Interface, StateSpec

Array = npt.NDArray[Any]
X = np.array([0.5, 1.0, -1.0, 2.0], np.float32)
BEGIN = np.array([1.0, 2.0, 3.0, 4.0], np.float32)

COUNTING = """
func.func @main(%c: tensor<4xf32> {graph.state = "total",
                                   graph.initial = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>},
                %x: tensor<4xf32> {graph.name = "x"}, %n: tensor<f32> {graph.state = "count"})
    -> (tensor<4xf32> {graph.state = "total"}, tensor<4xf32> {graph.name = "y"},
        tensor<f32> {graph.state = "count"}) {
  %d = graph.add %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %m = graph.add %n, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = graph.multiply %d, %m : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %d, %y, %m : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}
"""
IN_PLACE = """
func.func @main(%s: tensor<4xf32> {graph.state = "s"}, %x: tensor<4xf32>, %i: tensor<1xi64>,
                %j: tensor<1xi64>)
    -> (tensor<1xf32>, tensor<1xf32>, tensor<4xf32> {graph.state = "s"}) {
  %y = graph.gather %s, %i axis 0 batch_dims 0 bounds "check"
    : (tensor<4xf32>, tensor<1xi64>) -> tensor<1xf32>
  %n = graph.add %x, %y : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %z = graph.gather %n, %j axis 0 batch_dims 0 bounds "check"
    : (tensor<4xf32>, tensor<1xi64>) -> tensor<1xf32>
  func.return %y, %z, %n : tensor<1xf32>, tensor<1xf32>, tensor<4xf32>
}
"""
SWAP = """
func.func @main(%a: tensor<2xf32> {graph.state = "a"}, %b: tensor<2xf32> {graph.state = "b"},
                %w: tensor<2xf32> {graph.state = "w"})
    -> (tensor<2xf32> {graph.state = "a"}, tensor<2xf32> {graph.state = "b"},
        tensor<2xf32> {graph.name = "y"}) {
  %y = graph.subtract %a, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %b, %a, %y : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
"""
ROWS = 'tensor<?x2xf32, #graph.dims<["N", 2]>>'
OPEN = f"""
func.func @main(%h: {ROWS} {{graph.state = "h"}}, %x: {ROWS}) -> ({ROWS} {{graph.state = "h"}}) {{
  %y = graph.add %h, %x : ({ROWS}, {ROWS}) -> {ROWS}
  func.return %y : {ROWS}
}}
"""


def assert_close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def compiled(tmp_path: Path, text: str, **options: Any) -> stepwell.CompiledModel:
    path = tmp_path / "m.mlir"
    path.write_text(text)
    return stepwell.compile(path, threads=1, **options)


def test_states_live_between_calls_and_are_no_inputs(tmp_path: Path):
    model = compiled(tmp_path, COUNTING)
    assert [i.name for i in model.inputs] == ["x"] and [o.name for o in model.outputs] == ["y"]
    np.testing.assert_array_equal(model(X), BEGIN + X)
    np.testing.assert_array_equal(model(X), 2 * (BEGIN + 2 * X))
    session = model.session()
    np.testing.assert_array_equal(session.run({"x": X})["y"], BEGIN + X)
    np.testing.assert_array_equal(session.state["total"], BEGIN + X)
    assert dict(session.state).keys() == {"total", "count"} and session.state["count"] == 1


def test_states_are_set_reset_and_forked(tmp_path: Path):
    session = compiled(tmp_path, COUNTING).session()
    session(X)
    session.state["count"] = 9
    total = session.state["total"]
    total[:] = 0  # a copy
    other = session.fork()
    np.testing.assert_array_equal(session(X), 10 * (BEGIN + 2 * X))
    np.testing.assert_array_equal(other(X), 10 * (BEGIN + 2 * X))
    session.reset()
    np.testing.assert_array_equal(session(X), BEGIN + X)
    np.testing.assert_array_equal(other(X), 11 * (BEGIN + 3 * X))


def test_what_no_state_can_be(tmp_path: Path):
    session = compiled(tmp_path, COUNTING).session()
    with pytest.raises(StepwellError, match=r"error\[shape-mismatch\].*'total' has shape \[4\], found \[3\]"):
        session.state["total"] = X[:3]
    with pytest.raises(StepwellError, match=r"error\[type-mismatch\]"):
        session.state["total"] = X.astype(np.float64)
    with pytest.raises(StepwellError, match=r"error\[no-value\](.|\n)*the states are total, count"):
        session.state["nothing"] = X
    with pytest.raises(KeyError):
        session.state["nothing"]
    with pytest.raises(StepwellError, match=r"error\[bad-option\].*no state has the size 'N'"):
        compiled(tmp_path, COUNTING).session(N=2)
    np.testing.assert_array_equal(session(X), BEGIN + X)


def test_a_state_is_written_in_place_where_it_is_not_read_any_more(tmp_path: Path):
    model = compiled(tmp_path, IN_PLACE)
    (state,) = model.image.main.interface.states
    assert state.is_in_place
    session, wanted = model.session(), np.zeros(4, np.float32)
    for i, j in ((0, 2), (3, 0), (1, 1)):
        y, z = session(X, np.array([i]), np.array([j]))
        np.testing.assert_array_equal(y, wanted[[i]])
        wanted = X + np.asarray(y, np.float32)
        np.testing.assert_array_equal(z, wanted[[j]])
        np.testing.assert_array_equal(session.state["s"], wanted)


def test_a_state_is_lost_when_a_call_fails_that_writes_it(tmp_path: Path):
    session = compiled(tmp_path, IN_PLACE).session()
    zero = np.array([0])
    session(X, zero, zero)
    with pytest.raises(StepwellError, match="shape-mismatch"):
        session(X[:3], zero, zero)
    np.testing.assert_array_equal(session.state["s"], X)  # the call above had not begun
    with pytest.raises(StepwellError, match="index-out-of-range"):
        session(X, zero, np.array([7]))
    for use in (lambda: session(X, zero, zero), lambda: session.state["s"], session.fork):
        with pytest.raises(StepwellError, match=r"error\[state-lost\].*'s'"):
            use()
    session.reset()
    np.testing.assert_array_equal(session(X, zero, zero), [[0], X[:1]])


def test_states_change_places_and_one_is_only_read(tmp_path: Path):
    session = compiled(tmp_path, SWAP).session()
    session.state["a"], session.state["b"] = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    session.state["w"] = np.array([10, 20], np.float32)
    found = [session() for _ in range(3)]
    np.testing.assert_array_equal(found, [[-9, -18], [-7, -16], [-9, -18]])
    np.testing.assert_array_equal(session.state["a"], [3, 4])


def test_open_sizes_are_given_or_those_of_the_first_call(tmp_path: Path):
    model = compiled(tmp_path, OPEN)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    session = model.session()
    with pytest.raises(StepwellError, match=r"error\[bad-option\].*the size N of the state 'h' is not known"):
        session.state["h"]
    session(x)
    session(x)
    np.testing.assert_array_equal(session.state["h"], 2 * x)
    with pytest.raises(StepwellError, match="shape-mismatch"):
        session(x[:2])
    other = model.session(N=2)
    assert other.state["h"].shape == (2, 2)
    session.reset()
    session(x[:1])
    np.testing.assert_array_equal(session.state["h"], x[:1])


def test_artifacts_and_copies_begin_with_the_initial_values(tmp_path: Path):
    model = compiled(tmp_path, COUNTING)
    model(X)
    model.save(tmp_path / "m.stepwell")
    for same in (stepwell.load(tmp_path / "m.stepwell"), pickle.loads(pickle.dumps(model))):
        assert [i.name for i in same.inputs] == ["x"]
        np.testing.assert_array_equal(same(X), BEGIN + X)
        np.testing.assert_array_equal(same(X), 2 * (BEGIN + 2 * X))


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", ["graph", "linalg", "loops", "llvm"])
def test_the_text_of_each_level_has_the_states(tmp_path: Path, level: str):
    from stepwell.tools import cli

    (tmp_path / "m.mlir").write_text(COUNTING)
    out = tmp_path / "out.mlir"
    assert cli.main(["compile", str(tmp_path / "m.mlir"), "--emit", level, "-o", str(out)]) == 0
    session = stepwell.compile(out, threads=1).session()
    session(X)
    np.testing.assert_array_equal(session(X), 2 * (BEGIN + 2 * X))


@pytest.mark.sample(3)
@pytest.mark.parametrize("text", [COUNTING, IN_PLACE])
def test_states_of_the_first_stage_go_on_in_compiled_code(tmp_path: Path, text: str):
    inputs = (X,) if text == COUNTING else (X, np.array([2]), np.array([1]))
    wanted = compiled(tmp_path, text).session()
    model = compiled(tmp_path, text, start="now", use_cache=False)
    session = model.session()
    assert model.stage == "first"
    stages: list[str] = []
    for call in range(4):
        expected = wanted(*inputs)
        stages.append(model.stage)
        assert_close(session(*inputs), expected)
        assert_close(model(*inputs), expected)
        if call == 1:
            assert model.wait(60)
    assert stages[-1] == "full" and stages[0] == "first"
    session.reset()
    wanted.reset()
    assert_close(session(*inputs), wanted(*inputs))


def test_a_state_of_the_wrong_type_is_no_beginning(tmp_path: Path):
    text = COUNTING.replace("dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>", "dense<1.0> : tensor<3xf32>")
    with pytest.raises(StepwellError, match=r"error\[state-mismatch\].*'total' is float32\[4\]"):
        compiled(tmp_path, text)


def test_functions_for_c_begin_with_zeros(tmp_path: Path):
    with pytest.raises(StepwellError, match=r"error\[unsupported-interface\].*the state 'total' begins"):
        stepwell.export(compiled(tmp_path, COUNTING), tmp_path / "m.o")


def test_states_of_a_damaged_interface_are_refused(tmp_path: Path):
    interface = compiled(tmp_path, COUNTING).image.main.interface
    assert Interface.from_json(interface.to_json()) == interface
    for states in ([StateSpec("a", 5, 0)], [StateSpec("a", 0, 0), StateSpec("b", 0, None)]):
        data = interface._replace(states=tuple(states)).to_json()
        with pytest.raises(ValueError, match="a state names no input"):
            Interface.from_json(data)
