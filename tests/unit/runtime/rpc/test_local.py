"""Sessions in a process of this machine: calls, times, crashes, limits."""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell import rpc
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.guarded import GuardedMemory
from stepwell.runtime.rpc.messages import bounded_json, head_of, unpacked_arrays

SOFTMAX = """
func.func @main(%x: tensor<?x17xf32> {graph.dim_names = ["N", ""]}) -> tensor<?x17xf32> {
  %y = graph.softmax %x axis 1 : tensor<?x17xf32> -> tensor<?x17xf32>
  func.return %y : tensor<?x17xf32>
}
"""
GATHER = """
func.func @main(%x: tensor<?x8xf32> {graph.dim_names = ["N", ""]}, %i: tensor<1xi64>) -> tensor<1x8xf32> {
  %s = graph.softmax %x axis 0 : tensor<?x8xf32> -> tensor<?x8xf32>
  %y = graph.gather %s, %i axis 0 batch_dims 0 bounds "check"
    : (tensor<?x8xf32>, tensor<1xi64>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}
"""
CODE = """
import os, signal, time

def double(x):
    print("doubling", flush=True)
    return 2 * x

def both(x, y):
    return x + y, x - y

def fail(x):
    raise KeyError("no such thing")

def crash():
    os.kill(os.getpid(), signal.SIGSEGV)

def loop():
    while True:
        time.sleep(1)

def write():
    open(os.path.join(os.path.dirname(__file__), "made.bin"), "wb").write(b"abc")
    return 0
"""
X = np.random.default_rng(0).standard_normal((3, 17), np.float32)


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    return stepwell.compile(stepwell.parse(SOFTMAX))


@pytest.fixture
def session(tmp_path: Path) -> Generator[rpc.Connection]:
    (tmp_path / "code.py").write_text(CODE)
    with rpc.local() as opened:
        opened.upload(tmp_path / "code.py", "uploaded_code.py")
        yield opened


def test_a_model_is_called_and_timed_there(session: rpc.Connection, model: CompiledModel) -> None:
    there = session.load(model, threads=1)
    assert isinstance(there, CompiledModel) and there.threads == 1
    np.testing.assert_array_equal(there(X), model(X))
    name = there.inputs[0].name
    np.testing.assert_array_equal(there.run(None, {name: X[:1]})[0], model(X[:1]))
    timing = session.time(there, [X], number=3, repeat=4)
    assert len(timing.seconds) == 4 and min(timing.seconds) > 0 and timing.kernels is None
    found = session.compare(there, session.load(model, threads=1), [X], rounds=3)
    assert found.low <= found.median <= found.high
    with pytest.raises(StepwellError, match=r"error\[shape-mismatch\]"):
        there(X[:, :16])


def test_the_target_there_compiles(session: rpc.Connection) -> None:
    target = session.target()
    assert int(str(target["cores"])) >= 1
    compiled = stepwell.compile(stepwell.parse(SOFTMAX), mcpu=str(target["mcpu"]))
    np.testing.assert_allclose(np.asarray(session.load(compiled)(X)).sum(1), 1, rtol=1e-5)


def test_functions_files_and_the_log(session: rpc.Connection) -> None:
    np.testing.assert_array_equal(session.call("uploaded_code.double", X), 2 * X)
    total, rest = session.call("uploaded_code.both", X, X)
    assert (total == 2 * X).all() and not rest.any()
    assert session.log() == session.log() == "doubling"
    session.call("uploaded_code.write")
    assert session.download("made.bin") == b"abc"
    with pytest.raises(StepwellError, match="no such thing"):
        session.call("uploaded_code.fail", X)
    for name in ("uploaded_code.no", "no_module.f", "plain"):
        with pytest.raises(StepwellError, match="unknown-function"):
            session.call(name)
    np.testing.assert_array_equal(session.call("uploaded_code.double", X), 2 * X)


def test_a_crash_ends_the_session_with_its_reason(session: rpc.Connection) -> None:
    for _ in range(2):
        with pytest.raises(StepwellError, match=r"session-died.*SIGSEGV in uploaded_code\.crash"):
            session.call("uploaded_code.crash")


def test_a_loop_ends_at_the_deadline(session: rpc.Connection) -> None:
    session.seconds = 0.3
    with pytest.raises(StepwellError, match=r"session-timeout.*uploaded_code\.loop"):
        session.call("uploaded_code.loop")


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a" * 81, ".x", "", "a b", "a/b"])
def test_names_of_uploads_are_checked(session: rpc.Connection, tmp_path: Path, name: str) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"a")
    with pytest.raises(StepwellError, match=r"error\[bad-name\]"):
        session._ask({"op": "upload", "name": name}, b"a")  # pyright: ignore[reportPrivateUsage]


def stray(answers: object, behind: int) -> None:
    """Write behind an array of 100 bytes."""
    array = GuardedMemory().new((100,), np.dtype(np.uint8), "x")
    ctypes.memset(array.ctypes.data + behind, 1, 1)


def stray_far(requests: object, answers: object) -> None:
    stray(answers, 128)


def stray_before(requests: object, answers: object) -> None:
    stray(answers, -5000)


@pytest.mark.parametrize("program", ["stray_far", "stray_before"])
def test_a_stray_access_ends_the_process(program: str) -> None:
    child = Child(f"tests.unit.runtime.rpc.test_local:{program}", forward_errors=False)
    with pytest.raises(ChildError) as caught:
        child.ask({}, seconds=60)
    assert caught.value.status in (-11, -7), caught.value


def test_a_write_between_array_and_page_is_found() -> None:
    memory = GuardedMemory()
    array = memory.new((100,), np.dtype(np.uint8), "output 0")
    memory.check()
    ctypes.memset(array.ctypes.data + 100, 1, 1)
    with pytest.raises(StepwellError, match=r"stray-write.*output 0"):
        memory.check()
    assert np.isnan(memory.new((3,), np.dtype(np.float32), "x")).all()


def test_calls_of_one_shape_share_their_pages() -> None:
    memory, byte = GuardedMemory(), np.dtype(np.uint8)
    first = memory.new((100,), byte, "x")
    first[...] = 1
    again = memory.new((100,), byte, "x")
    assert again.ctypes.data == first.ctypes.data and (again == 0xA5).all()
    again[...] = 1
    memory.spoil("x")
    assert (again == 0xA5).all()
    ctypes.memset(again.ctypes.data + 100, 1, 1)
    with pytest.raises(StepwellError, match="stray-write"):
        memory.check()
    assert memory.new((101,), byte, "x").ctypes.data != first.ctypes.data
    memory.check()


def test_calls_of_other_shapes_and_failed_ones_leave_nothing_behind(session: rpc.Connection) -> None:
    """The workspace of a larger call is not that of a smaller one, whose end is another."""
    model = stepwell.compile(stepwell.parse(GATHER))
    there = session.load(model, threads=1)
    x = np.random.default_rng(3).standard_normal((40, 8), np.float32)
    for rows, index in ((40, 39), (3, 0), (3, -5), (3, 2), (40, 40), (40, 1), (3, 1)):
        i = np.array([index], np.int64)
        if -rows <= index < rows:
            np.testing.assert_array_equal(there(x[:rows], i), model(x[:rows], i))
        else:
            with pytest.raises(StepwellError, match=r"error\[index-out-of-range\]"):
                there(x[:rows], i)


@pytest.mark.parametrize(
    "part",
    [
        b"noise",
        b"{}\n",
        b'{"bytes": -1}\n',
        b'{"bytes": 10000000}\n',
        b'{"bytes": 1}\nab',
        b'{"bytes": 0, "a": ' + b"[" * 33 + b"]" * 33 + b"}\n",
        b"[" * 10_000 + b"\n",
        b" " * (1 << 21) + b"\n",
        b"\xff\xfe\n",
    ],
)
def test_what_is_no_message(part: bytes) -> None:
    with pytest.raises(BadFrame):
        head_of(part, 1 << 20)


def test_brackets_in_texts_are_no_depth() -> None:
    assert bounded_json(b'{"a": "' + b"[" * 100 + b'"}') == {"a": "[" * 100}


@pytest.mark.parametrize(
    "rows",
    [
        [["float32", [1 << 40, 1 << 40]]],
        [["float32", [-1]]],
        [["object", [1]]],
        [["float32", [2]]],
        3,
        [["no", []]],
    ],
)
def test_what_is_no_array(rows: object) -> None:
    with pytest.raises(BadFrame):
        unpacked_arrays(rows, bytes(4))
