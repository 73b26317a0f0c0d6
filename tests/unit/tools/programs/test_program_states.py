"""States of programs that run as bytecode: sessions, artifacts, copies, growing states, in all executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values.program import ProgramModel
from stepwell.tools import cli
from tests.commands import Capture
from tests.support.decoders import decoder
from tests.support.samples import whole
from tests.unit.tools.programs.test_compiled_programs import L, N

Executor = Literal["auto", "native", "vm", "interpreter"]
EXECUTORS: tuple[Executor, ...] = ("native", "vm", "interpreter")
# The head of a list, the sum of all lists before and with it, the list; an empty one has no head.
SUMS = f"""
func.func @main(%t: {N} {{graph.state = "total", graph.initial = dense<100> : {N}}},
                %xs: {L} {{graph.name = "xs"}}, %w: {N} {{graph.state = "weight"}})
    -> ({L}, {N} {{graph.state = "total"}}) {{
  %s = graph.call @sum<i64>(%xs) : ({L}) -> {N}
  %h = graph.call @hd<{N}>(%xs) : ({L}) -> {N}
  %u = graph.add %t, %s : ({N}, {N}) -> {N}
  %n = graph.add %u, %w : ({N}, {N}) -> {N}
  %a = adt.make @List::@Cons(%n, %xs) : ({N}, {L}) -> {L}
  %b = adt.make @List::@Cons(%t, %a) : ({N}, {L}) -> {L}
  %c = adt.make @List::@Cons(%h, %b) : ({N}, {L}) -> {L}
  func.return %c, %n : {L}, {N}
}}
"""
SAME = """
func.func @main(%s: tensor<2xf32> {graph.state = "s"}, %w: tensor<2xf32> {graph.state = "w"})
    -> (tensor<2xf32>, tensor<2xf32> {graph.state = "s"}, tensor<2xf32>) {
  func.return %s, %w, %w : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
"""


def compiled(folder: Path, text: str, executor: Executor, **options: Any) -> Any:
    (folder / "m.mlir").write_text(text)
    return stepwell.compile(folder / "m.mlir", executor=executor, **options)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_sessions(tmp_path: Path, executor: Executor) -> None:
    model = compiled(tmp_path, SUMS, executor)
    assert isinstance(model, ProgramModel)
    assert [str(type) for type in model.signature().inputs] == ["List(i64[])"]
    session, other = model.session(), model.session()
    assert session([1, 2]) == [1, 100, 103, 1, 2] and session(xs=[4]) == [4, 103, 107, 4]
    assert (
        other([5]) == [5, 100, 105, 5] and model([6]) == [6, 100, 106, 6] and model([7]) == [7, 106, 113, 7]
    )
    forked = session.fork()
    session.state["weight"] = 1000
    assert session([1]) == [1, 107, 1108, 1] and forked([1]) == [1, 107, 108, 1]
    assert {name: int(value) for name, value in session.state.items()} == {"total": 1108, "weight": 1000}
    with pytest.raises(StepwellError, match="no case"):
        session([])  # of `hd`
    assert session([1]) == [1, 1108, 2109, 1]
    session.reset()
    assert session([1]) == [1, 100, 101, 1]


@pytest.mark.parametrize("executor", EXECUTORS[:2])
def test_artifacts_begin_anew(tmp_path: Path, executor: Executor) -> None:
    model = compiled(tmp_path, SUMS, executor)
    model([1])
    model.save(tmp_path / "m.stepwell")
    loaded: Any = stepwell.load(tmp_path / "m.stepwell", executor=executor)
    assert loaded([2]) == [2, 100, 102, 2] and model([1]) == [1, 101, 102, 1]
    assert model.with_limits(max_depth=50)([2]) == [2, 100, 102, 2]


@pytest.mark.parametrize("executor", ["auto", "vm", "interpreter"])
def test_results_that_are_states(tmp_path: Path, executor: Executor) -> None:
    """What a program returns beside its states is the caller's, who may write to it."""
    session = compiled(tmp_path, SAME, executor).session()
    session.state["s"], session.state["w"] = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    for before in ([1, 2], [3, 4], [3, 4]):
        old, again = session()
        assert old.tolist() == before and again.tolist() == [3, 4]
        old[:], again[:] = 7, 8
    session.state["w"] = np.zeros(2, np.float32)
    assert session.state["s"].tolist() == [3, 4]


OF_DATA = f"""
func.func @main(%t: {L} {{graph.state = "total"}}, %x: {N}) -> ({L} {{graph.state = "total"}}) {{
  %n = adt.make @List::@Cons(%x, %t) : ({N}, {L}) -> {L}
  func.return %n : {L}
}}
"""
OTHER_BEGIN = SUMS.replace(f"dense<100> : {N}", "dense<100> : tensor<3xi64>")


@pytest.mark.parametrize("executor", ["auto", "vm", "interpreter"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OF_DATA, "the state 'total' is !adt.data<@List, tensor<i64>>: states are tensors"),
        (OTHER_BEGIN, "the state 'total' is tensor<i64> and begins with tensor<3xi64>"),
    ],
)
def test_states_that_are_refused(tmp_path: Path, executor: Executor, text: str, message: str) -> None:
    (tmp_path / "m.mlir").write_text(text)
    with pytest.raises(StepwellError, match=r"error\[state-mismatch\]") as caught:
        stepwell.compile(tmp_path / "m.mlir", executor=executor)
    assert message in caught.value.message


def test_bytecode_as_text_runs(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "m.mlir").write_text(SUMS)
    assert cli.main(["compile", str(tmp_path / "m.mlir"), "--emit", "vm"]) == 0
    text = capsys.readouterr().out
    assert '#vm.state<"total" input 0 output 1 initial ' in text and '#vm.state<"weight" input 2>' in text
    model = compiled(tmp_path, text, "vm")
    assert model([1, 2]) == [1, 100, 103, 1, 2] and model([4]) == [4, 103, 107, 4]


@whole
@pytest.mark.parametrize("executor", ["vm", "interpreter"])
def test_growing_states(executor: Executor) -> None:
    """A decoder as one segment answers as compiled code does."""
    model: Any = stepwell.compile(decoder("plain"), states="auto", executor=executor)
    reference: Any = stepwell.compile(decoder("plain"), states="auto")
    session, other = (each.session(batch=1, capacity=8) for each in (model, reference))
    for tokens in ([1, 2, 3], [4], [5]):
        found, expected = (each(np.array([tokens])) for each in (session, other))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert session.length == 5 and session.capacity == 8
    session.rewind(1)
    assert np.allclose(session(np.array([[5]])), found, rtol=1e-5, atol=1e-6)
    with pytest.raises(StepwellError, match="8 positions, 5 used, 4 more asked"):
        session(np.array([[1, 2, 3, 4]]))


def test_a_state_that_no_memory_has(tmp_path: Path) -> None:
    type = "tensor<4611686018427387904xi64>"
    text = f"""
vm.func @main (1) registers 1 : ({type}) -> {type} attributes {{vm.states = [#vm.state<"s" input 0>]}} {{
  vm.ret r0
}}
"""
    with pytest.raises(StepwellError, match="the memory does not suffice for the state 's'"):
        compiled(tmp_path, text, "vm")()
