"""Sessions with states that grow: length, room, rewind, forks, resets, and what they refuse."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import StepwellError
from stepwell.runtime.interface import Interface
from stepwell.tools import cli

TABLE = np.array([[1, 2, 4], [16, 32, 64], [3, 9, 27], [5, 25, 125], [7, 49, 343]], np.float32)
ROWS = ", ".join(str(row.tolist()) for row in TABLE)
TEXT = f"""
func.func @main(%ids: tensor<1x?xi64, #graph.dims<[1, "S"]>> {{graph.name = "input_ids"}},
                %k: tensor<1x?x3xf32, #graph.dims<[1, "P", 3]>> {{graph.name = "k"}})
    -> (tensor<1x?x3xf32, #graph.dims<[1, "S", 3]>> {{graph.name = "logits"}},
        tensor<1x?x3xf32, #graph.dims<[1, "P + S", 3]>> {{graph.name = "k_out"}}) {{
  %t = graph.constant dense<[{ROWS}]> : tensor<5x3xf32>
  %new = graph.gather %t, %ids axis 0 batch_dims 0 bounds "check"
    : (tensor<5x3xf32>, tensor<1x?xi64, #graph.dims<[1, "S"]>>) -> tensor<1x?x3xf32, #graph.dims<[1, "S", 3]>>
  %all = graph.concat %k, %new axis 1
    : (tensor<1x?x3xf32, #graph.dims<[1, "P", 3]>>, tensor<1x?x3xf32, #graph.dims<[1, "S", 3]>>)
    -> tensor<1x?x3xf32, #graph.dims<[1, "P + S", 3]>>
  %sum = graph.reduce %all kind "sum" axes [1] keep_dims true
    : tensor<1x?x3xf32, #graph.dims<[1, "P + S", 3]>> -> tensor<1x1x3xf32>
  %y = graph.add %new, %sum
    : (tensor<1x?x3xf32, #graph.dims<[1, "S", 3]>>, tensor<1x1x3xf32>)
    -> tensor<1x?x3xf32, #graph.dims<[1, "S", 3]>>
  func.return %y, %all
    : tensor<1x?x3xf32, #graph.dims<[1, "S", 3]>>, tensor<1x?x3xf32, #graph.dims<[1, "P + S", 3]>>
}}
"""


def program() -> Any:
    return stepwell.parse(TEXT)


@cache
def compiled(**options: Any) -> stepwell.CompiledModel:
    return stepwell.compile(program(), states="auto", threads=1, **options)


def step(session: Any, *ids: int) -> Any:
    """The logits of the last token."""
    return session(np.array([ids]))[0, -1]


def wanted(*ids: int) -> Any:
    """The same for all tokens so far."""
    return TABLE[ids[-1]] + TABLE[list(ids)].sum(0)


def test_a_session_reads_the_tokens_of_earlier_calls():
    session = compiled().session()
    np.testing.assert_array_equal(step(session, 1, 2), wanted(1, 2))
    np.testing.assert_array_equal(step(session, 3), wanted(1, 2, 3))
    np.testing.assert_array_equal(session.state["k"], TABLE[None, [1, 2, 3]])
    assert session.state["length"] == 3 == session.length


def test_a_full_session_is_unchanged_by_the_refusal():
    session = compiled().session(capacity=4)
    step(session, 0, 1, 2, 3)
    with pytest.raises(StepwellError, match=r"error\[state-full\]: 4 positions, 4 used, 1 more asked"):
        step(session, 4)
    assert session.length == 4 == session.capacity
    session.rewind(1)
    np.testing.assert_array_equal(step(session, 4), wanted(0, 1, 2, 4))


def test_a_prompt_without_room_leaves_a_session_as_it_was():
    session = compiled().session(capacity=4)
    with pytest.raises(StepwellError, match=r"4 positions, 0 used, 5 more asked"):
        step(session, 0, 1, 2, 3, 4)
    assert session.length == 0
    np.testing.assert_array_equal(step(session, 2), wanted(2))


def test_forks_go_on_from_the_same_tokens():
    session = compiled().session(capacity=8)
    step(session, 0, 1, 2)
    other = session.fork()
    for each, token in ((session, 3), (other, 4), (session, 1), (other, 0)):
        step(each, token)
    np.testing.assert_array_equal(step(session, 2), wanted(0, 1, 2, 3, 1, 2))
    np.testing.assert_array_equal(step(other, 2), wanted(0, 1, 2, 4, 0, 2))
    assert other.capacity == 8


def test_a_reset_session_begins_again():
    session = compiled().session()
    step(session, 0, 1)
    session.reset()
    assert session.length == 0
    np.testing.assert_array_equal(step(session, 3), wanted(3))


def test_tokens_are_forgotten_one_by_one():
    session = compiled().session()
    step(session, 0, 1, 2, 3)
    session.rewind(3)
    np.testing.assert_array_equal(step(session, 4, 2), wanted(0, 4, 2))
    for wrong in (4, -1, 1.5, True):
        with pytest.raises(
            StepwellError, match=r"error\[bad-inputs\]: a session of 3 positions cannot go back"
        ):
            session.rewind(wrong)  # pyright: ignore[reportArgumentType]
    assert session.length == 3


def test_a_call_that_fails_leaves_a_session_as_it_was():
    session = compiled().session()
    step(session, 1, 2)
    with pytest.raises(StepwellError, match="index-out-of-range"):
        step(session, 0, 9)
    with pytest.raises(StepwellError, match="shape-mismatch"):
        session(np.array([1]))
    assert session.length == 2
    np.testing.assert_array_equal(step(session, 3), wanted(1, 2, 3))


def test_states_are_set_up_to_the_length():
    session, other = compiled().session(capacity=6), compiled().session(capacity=9)
    step(session, 1, 2, 3)
    other.state["length"] = session.length
    other.state["k"] = session.state["k"]
    np.testing.assert_array_equal(step(other, 0), wanted(1, 2, 3, 0))
    with pytest.raises(StepwellError, match=r"error\[shape-mismatch\].*\[1, 4, 3\], found \[1, 3, 3\]"):
        other.state["k"] = session.state["k"]
    with pytest.raises(StepwellError, match=r"error\[bad-inputs\]: a length is from 0 to 6, found 7"):
        session.state["length"] = 7


def test_the_capacity_of_the_program():
    model = compiled(capacity=3)
    session = model.session()
    assert session.capacity == 3
    step(session, 1, 2, 3)
    with pytest.raises(StepwellError, match="state-full"):
        step(session, 1)
    with pytest.raises(StepwellError, match=r"error\[bad-option\].*no state has the size 'capacity'"):
        model.session(capacity=4)


def test_times_are_of_calls_that_begin_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = compiled(capacity=3)
    assert len(model.benchmark(np.array([[1, 2]]), runs=6).seconds) == 6
    np.testing.assert_array_equal(step(model, 1), wanted(1))
    (tmp_path / "m.mlir").write_text(TEXT)
    asked = ["run", str(tmp_path / "m.mlir"), "--state", "auto", "--check"]
    assert cli.main(asked) == 2
    assert "--check compares with the model's own call" in capsys.readouterr().err


def test_sessions_of_one_model_are_apart():
    sessions = [compiled().session(capacity=n) for n in (3, 5)]
    step(sessions[0], 1, 2, 3)
    step(sessions[1], 4)
    np.testing.assert_array_equal(step(sessions[1], 0), wanted(4, 0))
    assert [each.length for each in sessions] == [3, 2]


def test_an_artifact_and_a_copy_have_the_length_too(tmp_path: Path):
    compiled().save(tmp_path / "m.stepwell")
    for same in (stepwell.load(tmp_path / "m.stepwell"), pickle.loads(pickle.dumps(compiled()))):
        session = same.session(capacity=3)
        step(session, 1, 2)
        np.testing.assert_array_equal(step(session, 3), wanted(1, 2, 3))
        with pytest.raises(StepwellError, match="state-full"):
            step(session, 1)


def test_the_first_stage_has_the_same_sessions():
    model = stepwell.compile(program(), states="auto", threads=1, start="now")
    session = model.session(capacity=4)
    np.testing.assert_array_equal(step(session, 1, 2), wanted(1, 2))
    assert session.length == 2
    assert model.wait(60)
    np.testing.assert_array_equal(step(session, 3), wanted(1, 2, 3))


def test_a_model_whose_states_do_not_grow_has_no_length(tmp_path: Path):
    text = """func.func @main(%h: tensor<2xf32> {graph.name = "h"}, %x: tensor<2xf32> {graph.name = "x"})
        -> (tensor<2xf32> {graph.name = "h_out"}) {
      %y = graph.add %h, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }"""
    (tmp_path / "m.mlir").write_text(text)
    session = stepwell.compile(tmp_path / "m.mlir", states="auto", threads=1).session()
    x = np.ones(2, np.float32)
    session(x=x)
    session(x=x)
    np.testing.assert_array_equal(session.state["h"], 2 * x)
    for use in (lambda: session.length, lambda: session.rewind(1), lambda: session.capacity):
        with pytest.raises(StepwellError, match=r"error\[bad-option\]: no state of the model grows"):
            use()
    with pytest.raises(StepwellError, match=r"error\[bad-option\]: no state grows"):
        stepwell.compile(tmp_path / "m.mlir", states="auto", capacity=8)


def test_a_damaged_interface_is_refused():
    interface = compiled().image.main.interface
    assert Interface.from_json(interface.to_json()) == interface
    for number, changes in ((0, {"axis": 3}), (1, {"adds": None}), (0, {"axis": None})):
        states = list(interface.states)
        states[number] = states[number]._replace(**changes)
        with pytest.raises(ValueError, match="state"):
            Interface.from_json(interface._replace(states=tuple(states)).to_json())


def test_bad_input_of_generation():
    model = compiled(capacity=3)
    for arguments, message in (
        (([],), r"error\[bad-inputs\]: a prompt has one token or more"),
        (([1, 7],), r"error\[bad-inputs\]: the token 7 is not in the vocabulary, whose ids are from 0 to 2"),
        (([-1],), r"error\[bad-inputs\]: the token -1"),
        (([0, 1, 2, 1],), r"error\[state-full\]: 3 positions, 0 used, 4 more asked"),
    ):
        with pytest.raises(StepwellError, match=message):
            stepwell.generate(model, *arguments)
    with pytest.raises(StepwellError, match=r"error\[bad-option\]: max_new_tokens must be"):
        stepwell.generate(model, [1], max_new_tokens=0)
    with pytest.raises(StepwellError, match=r"error\[bad-option\]: the model has no states"):
        stepwell.generate(stepwell.compile(program(), threads=1), [1])


def test_generation_ends_with_tokens_and_sequences():
    told: list[int] = []
    every = stepwell.generate(compiled(), [1], max_new_tokens=6, on_token=told.append)
    assert told == every.ids and every.finish == "length" and len(every.step_seconds) == 5
    by_eos = stepwell.generate(compiled(), [1], eos=every.ids[0])
    assert (by_eos.ids, by_eos.finish) == (every.ids[:1], "eos")
    by_stop = stepwell.generate(compiled(), [1], stop=[every.ids[:2]])
    assert (by_stop.ids, by_stop.finish) == (every.ids[:2], "stop")
    draws = [
        stepwell.generate(compiled(), [1], max_new_tokens=6, temperature=1e3, seed=s).ids for s in (4, 4, 5)
    ]
    assert draws[0] == draws[1] != draws[2]
