"""Child processes: answers, limits, and what is said of those that give none."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.runtime import child as child_module
from stepwell.runtime import frames
from stepwell.runtime.child import LAST_OUTPUT_BYTES, Child, ChildError
from stepwell.runtime.frames import BadFrame, Frame, read_frame, write_frame
from stepwell.runtime.machine.deadline import Deadline

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda some: st.lists(some, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.text().filter(lambda name: name != "bytes"), JSON, max_size=3), st.binary())
def test_a_frame_arrives_as_it_was_sent(head: dict[str, object], body: bytes) -> None:
    stream = io.BytesIO()
    write_frame(stream, head, body)
    write_frame(stream, {})
    stream.seek(0)
    assert read_frame(stream) == Frame(head, body)
    assert read_frame(stream) == Frame({}, b"")
    assert read_frame(stream) is None


@pytest.mark.parametrize(
    "sent",
    [
        b"{}\n",
        b"[3]\n",
        b"no JSON\n",
        b"\xff\n",
        b'{"bytes": -1}\n',
        b'{"bytes": true}\n',
        b'{"bytes": "3"}\nabc',
        b'{"bytes": 11}\n01234567890',
        b"[" * 100_000 + b"\n",
        b" " * 1001 + b"\n",
    ],
)
def test_what_is_no_frame(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_HEAD_BYTES", 1000 if sent.startswith(b" ") else 1 << 20)
    with pytest.raises(BadFrame):
        read_frame(io.BytesIO(sent), max_body=10)


@pytest.mark.parametrize("sent", [b"", b'{"bytes": 3}', b'{"bytes": 3}\nab'])
def test_a_frame_that_is_cut_off_is_none(sent: bytes) -> None:
    assert read_frame(io.BytesIO(sent)) is None


def program(name: str) -> str:
    """A program of the tests."""
    return f"tests.support.children:{name}"


def test_answers(capfd: pytest.CaptureFixture[str]) -> None:
    child = Child(program("echo"))
    body = bytes(range(256)) * 4096
    first, second = child.ask({"a": [1, "b"]}, body), child.ask({}, b"", seconds=60)
    child.close()
    assert first.head["a"] == [1, "b"] and first.body == body
    assert first.head["pid"] == second.head["pid"] != os.getpid()
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "printed\n")


@pytest.mark.parametrize(
    ("name", "reason", "last_output"),
    [
        ("die", "it ended with status 3", "these are my last output"),
        ("crash", "it was ended by SIGABRT", ""),
        ("flood", "from 0 to 1048576 bytes, found 4194304", ""),
        ("babble", "a line of JSON, found b'Segmentation fault", ""),
        ("cut", "it ended with status 0", ""),
        ("nothing", "it ended with status 1", "has no attribute 'nothing'"),
    ],
)
def test_children_that_give_no_answer(name: str, reason: str, last_output: str) -> None:
    child = Child(program(name), answer_bytes=1 << 20, forward_errors=False)
    with pytest.raises(ChildError) as error:
        child.ask({})
    assert reason in error.value.reason and error.value.last_output.endswith(last_output)
    assert len(error.value.last_output) <= LAST_OUTPUT_BYTES
    with pytest.raises(ChildError):  # it stays so
        child.ask({})
    child.close()


def test_a_deadline() -> None:
    child = Child(program("hang"), forward_errors=False)
    start = time.monotonic()
    with pytest.raises(ChildError, match="it took more than 1.5 s and was killed") as error:
        child.ask({}, seconds=1.5)
    assert time.monotonic() - start < 60
    assert error.value.last_output in ("I think", "")  # on a busy machine it has said nothing yet


def test_more_memory_than_it_may_have() -> None:
    pytest.importorskip("resource")
    child = Child(program("allocate"), memory_bytes=1 << 31, forward_errors=False)
    child.ask({"size": 1 << 20})
    with pytest.raises(ChildError) as error:
        child.ask({"size": 1 << 32})
    assert error.value.last_output.endswith("MemoryError")


@pytest.mark.parametrize("end", [Child.kill, Child.close])
def test_an_end(end: Callable[[Child], None]) -> None:
    child = Child(program("echo"), forward_errors=False)
    pid = int(str(child.ask({}).head["pid"]))
    end(child)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    end(child)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kept", [True, False])
def test_bytecode_is_in_the_cache_where_there_is_none_beside_the_sources(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (beside := tmp_path / "child.pyc").touch()
    monkeypatch.setattr(child_module, "cache_from_source", lambda _: beside if kept else tmp_path / "none")
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    child = Child("tests.support.children:bytecode")
    answer = child.ask({}).head
    child.close()
    prefix = tmp_path / "cache" / "pyc"
    assert answer == (
        {"prefix": None, "written": False} if kept else {"prefix": str(prefix), "written": True}
    )
    assert kept or (prefix.is_dir() and prefix.parent.stat().st_mode & 0o777 == 0o700)


def test_one_thread_watches_all_requests() -> None:
    passed: list[float] = []
    deadline = Deadline(passed.append)
    deadline.begin(30)
    deadline.end()
    deadline.begin(0.05)  # earlier than the one that the thread sleeps until
    before = threading.active_count()
    end = time.monotonic() + 10
    while not passed and time.monotonic() < end:
        time.sleep(0.01)
    assert passed == [0.05]
    deadline.begin(0.05)
    deadline.end()
    time.sleep(0.1)
    assert passed == [0.05] and threading.active_count() == before
    deadline.close()
