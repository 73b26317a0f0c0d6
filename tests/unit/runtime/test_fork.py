"""Forked processes: answers as those of new ones, and what they leave to their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stepwell.runtime.child import Child, ChildError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")


def program(name: str) -> str:
    """A program of the tests."""
    return f"tests.support.children:{name}"


def test_answers(capfd: pytest.CaptureFixture[str]) -> None:
    children = [Child(program("echo"), fork=True) for _ in range(2)]
    pids = {int(str(child.ask({}).head["pid"])) for child in children}
    body = bytes(range(256)) * 4096
    assert children[0].ask({"a": [1]}, body).body == body
    for child in children:
        child.close()
    assert len({*pids, os.getpid()}) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "printed\nprinted\n")


@pytest.mark.parametrize(
    ("name", "reason", "last_output"),
    [
        ("die", "it ended with status 3", "these are my last output"),
        ("crash", "it was ended by SIGABRT", ""),
        ("hang", "it took more than 2 s and was killed", "I think"),
        ("nothing", "it ended with status 1", "has no attribute 'nothing'"),
    ],
)
def test_forked_children_that_give_no_answer(name: str, reason: str, last_output: str) -> None:
    child = Child(program(name), forward_errors=False, fork=True)
    with pytest.raises(ChildError) as error:
        child.ask({}, seconds=2 if name == "hang" else None)
    assert reason in error.value.reason
    assert last_output in error.value.last_output
    child.close()


def test_a_fork_has_neither_handlers_nor_files_of_its_parent(tmp_path: Path) -> None:
    """A lock on a file ends with its owner, not with a worker that was forked meanwhile."""
    held = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        child = Child(program("inherited"), fork=True)
        answer = child.ask({"descriptor": held}).head
        child.close()
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(held)
    assert answer == {"file": os.devnull, "handler": "SIG_DFL"}


def test_a_refused_fork_is_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    child = Child(program("echo"), fork=True, forward_errors=False)
    assert child.ask({}).head["pid"] != os.getpid()
    child.close()


THREADS = """
import ctypes, os, threading, time
import numpy
from stepwell.runtime.machine.fork import ReaderThread, can_fork
found, tasks = [can_fork()], os.listdir("/proc/self/task")
for kind in (threading.Thread, ReaderThread):
    end = threading.Event()
    thread = kind(target=end.wait)
    thread.start()
    found.append(can_fork())
    end.set()
    thread.join()
    while len(os.listdir("/proc/self/task")) > len(tasks):  # Python's thread has ended, the system's not yet
        time.sleep(0.001)
libc, number = ctypes.CDLL(None), ctypes.c_ulong()
for _ in range(2):  # where numpy has no threads, one may be taken for its own
    libc.pthread_create(ctypes.byref(number), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)
print(*found, can_fork(), flush=True)
"""


def test_threads_of_others_rule_a_fork_out() -> None:
    """Also threads of libraries, which Python knows nothing of; not those that only read a stream."""
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
    command = ["taskset", "-c", cores, sys.executable, "-c", THREADS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "False", "True", "False"]


PARENT = """
import os, sys
from stepwell.runtime.child import Child
sys.stdout.write("once")  # not written yet
child = Child("tests.support.children:echo", fork=True, forward_errors=False)
print("", child.ask({}).head["pid"])
sys.stdout.flush()
os._exit(0)
"""


def test_a_fork_ends_with_its_parent_and_repeats_nothing_of_it() -> None:
    """What the parent has not written yet is written once."""
    done = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True, timeout=60)
    once, pid = done.stdout.split()
    assert once == "once"
    ended = Path(f"/proc/{pid}")
    for _ in range(200):
        if not ended.exists() or ") Z " in (ended / "stat").read_text():
            return
        threading.Event().wait(0.05)
    pytest.fail("the forked process lives on")
