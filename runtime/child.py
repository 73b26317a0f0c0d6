"""Child processes for requests: a limit of memory, a deadline, and the last output of one that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import cache_from_source
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import IO, NamedTuple, cast

from stepwell.runtime.collector import compiler_imports
from stepwell.runtime.frames import MAX_BODY_BYTES, BadFrame, Frame, read_frame, write_frame
from stepwell.runtime.machine.deadline import Deadline
from stepwell.runtime.machine.fork import Fork, ReaderThread

LAST_OUTPUT_BYTES = 4096
_END_SECONDS = 5
"""How long a child may take to end after its input or its output has ended."""

# Ctrl-C is sent to a child too: it ends silently, also while it still imports. Replies go to the standard
# output that it was started with: what the program or a plugin prints goes to standard error.
_START = """
import importlib, json, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
replies = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
start = json.loads(sys.stdin.buffer.readline())
sys.path[:] = start["path"]
if start["memory"] is not None:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (start["memory"], start["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
module, function = start["program"].split(":")
from stepwell.runtime.collector import compiler_imports
with compiler_imports():
    program = getattr(importlib.import_module(module), function)
program(sys.stdin.buffer, replies)
"""


class Ended(NamedTuple):
    """The end of a command: its exit status (negative for a signal), and the end of its standard error."""

    status: int
    errors: str


def run_command(command: str | Sequence[str], seconds: float | None) -> Ended | None:
    """
    Run a command of the user's without its output: a text by the shell, a list without one.

    Returns: None where it takes longer than `seconds`; then it is killed, with the processes it has started.
    """
    child = subprocess.Popen(
        command,
        shell=isinstance(command, str),
        text=True,
        errors="replace",
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _, errors = child.communicate(timeout=seconds)
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise
    return Ended(child.returncode, errors[-LAST_OUTPUT_BYTES:])


class ChildError(Exception):
    """
    A child process without an answer: dead, killed at its deadline, or with an answer that is no message.

    Args: `reason` says which, with the exit status; `last_output` is the end of its standard error; `status`
    is the exit status, that of a signal negative; `is_late` is for one that was killed at its deadline.
    """

    def __init__(self, reason: str, last_output: str, status: int, *, is_late: bool = False):
        self.reason, self.last_output, self.status = reason, last_output, status
        self.is_late = is_late
        super().__init__(f"{reason}\n{last_output}".rstrip())


def _bytecode() -> tuple[Sequence[str], Mapping[str, str] | None]:
    """
    The options and the environment of a process that finds the bytecode of our modules.

    Without it, in an installation that cannot be written or under PYTHONDONTWRITEBYTECODE, each process would
    compile some 300 sources, in 0.6 s: it keeps their bytecode in the cache folder then.
    """
    if Path(cache_from_source(__file__)).exists():
        return (), None
    from stepwell.runtime.files.cache import default_folder

    folder = default_folder()
    with suppress(OSError):  # then there is no bytecode
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return ("-X", f"pycache_prefix={folder / 'pyc'}"), environment


def _started(program: str, memory_bytes: int | None) -> subprocess.Popen[bytes]:
    """A new process for a program. Raises: OSError."""
    pipe = subprocess.PIPE
    options, environment = _bytecode()
    command = [sys.executable, *options, "-c", _START]
    process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)
    with suppress(OSError):  # the first request will say that it has died
        start = {"path": sys.path, "memory": memory_bytes, "program": program}
        write_frame(cast(IO[bytes], process.stdin), start)
    return process


def _forked(program: str, inherited: Sequence[object]) -> subprocess.Popen[bytes] | Fork:
    """
    A forked process for a program with further arguments, or a new one without them if the system refuses.

    Raises: OSError.
    """

    def run(requests: IO[bytes], answers: IO[bytes]) -> None:
        module, function = program.split(":")
        with compiler_imports():
            main: Callable[..., None] = getattr(import_module(module), function)
        main(requests, answers, *inherited)

    try:
        return Fork(run)
    except (OSError, RuntimeError):  # no memory for it; an interpreter that is not the main one
        return _started(program, None)


class Child:
    """
    A Python process for a program, with the same search path for modules as this process.

    The process is started anew, because of live threads, unless a fork is preferred and `can_fork` says that
    it is safe. multiprocessing is not used: it would run a script without a main guard again.
    """

    def __init__(
        self,
        program: str,
        *,
        memory_bytes: int | None = None,
        answer_bytes: int = MAX_BODY_BYTES,
        forward_errors: bool = True,
        fork: bool = False,
        inherited: Sequence[object] = (),
    ):
        """
        Args: `program` is `module:function`, called with the streams of requests and answers (binary; frames
        of `runtime/frames.py`); `memory_bytes` limits its address space (on systems that can);
        `answer_bytes` its answers; `forward_errors`: whether its standard error is shown here too; `fork`:
        whether to fork this process, without a limit of memory, which saves the imports; `inherited` are
        further arguments of the program in a fork, which has them in its memory.
        Raises: OSError when it cannot be started.
        """
        self._answer_bytes = answer_bytes
        self._late: float | None = None
        self._last_output = b""
        self._deadline = Deadline(self._kill_late)
        self._process = _forked(program, inherited) if fork else _started(program, memory_bytes)
        self._listener = ReaderThread(target=self._listen, args=(forward_errors,), daemon=True)
        self._listener.start()

    @property
    def is_fork(self) -> bool:
        """Whether the process is a fork of this one, which has inherited objects."""
        return isinstance(self._process, Fork)

    @property
    def _requests(self) -> IO[bytes]:
        return cast(IO[bytes], self._process.stdin)

    @property
    def _answers(self) -> IO[bytes]:
        return cast(IO[bytes], self._process.stdout)

    def _listen(self, forward: bool) -> None:
        """Keep the end of the child's standard error."""
        errors = cast(IO[bytes], self._process.stderr)
        # Closed by us, where a process that the child started has it open.
        with suppress(OSError, ValueError):
            while part := os.read(errors.fileno(), 1 << 16):
                self._last_output = (self._last_output + part)[-LAST_OUTPUT_BYTES:]
                if forward:
                    with suppress(OSError):  # ours may be closed
                        os.write(2, part)

    def ask(
        self,
        head: Mapping[str, object],
        body: bytes = b"",
        *,
        seconds: float | None = None,
        line: bytes = b"",
    ) -> Frame:
        """
        The answer to a request; after an error the child has ended.

        Args: `seconds` is its deadline: the child is killed when it passes; `line` is the line of a request
        that is forwarded.
        Raises: ChildError.
        """
        return self._answer(lambda: write_frame(self._requests, head, body, line), seconds)

    def next_answer(self) -> Frame:
        """The next answer of a program that gives several to a request. Raises: ChildError."""
        return self._answer(lambda: None, None)

    def _answer(self, send: Callable[[], None], seconds: float | None) -> Frame:
        """The answer after sending something. Raises: ChildError."""
        if seconds is not None:
            self._deadline.begin(seconds)
        try:
            send()
            answer = read_frame(self._answers, self._answer_bytes)
        except BadFrame as error:
            self.kill()
            message = f"its answer cannot be read: {error}"
            raise ChildError(message, self.last_output, self._process.returncode) from None
        except (OSError, ValueError):  # a stream is broken, or closed
            answer = None
        finally:
            self._deadline.end()
        if answer is None:
            self._end_or_kill()  # where it lives on without output, it is of no use
            status, is_late = self._process.returncode, self._late is not None
            raise ChildError(self._reason(), self.last_output, status, is_late=is_late)
        return answer

    def _kill_late(self, seconds: float) -> None:
        self._late = seconds
        self._process.kill()

    def _reason(self) -> str:
        """The way in which the process ended."""
        if self._late is not None:
            return f"it took more than {self._late:g} s and was killed"
        status = self._process.returncode
        if status >= 0:
            return f"it ended with status {status}"
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-status).name}"
        return f"it was ended by signal {-status}"

    @property
    def last_output(self) -> str:
        """The end of its standard error; all of it once the process has ended."""
        if self._process.returncode is not None:
            self._listener.join(_END_SECONDS)
        return self._last_output.decode(errors="replace").strip()

    def stop(self) -> None:
        """End the process while another thread waits for an answer, which then raises ChildError."""
        self._process.kill()

    def kill(self) -> None:
        """End the process at once; nothing where it has ended."""
        self._process.kill()
        self._process.wait()
        self._close_streams()

    def end_input(self) -> None:
        """Close the process's input, which asks its program to end, and do not wait."""
        with suppress(OSError):
            self._requests.close()

    def forget(self) -> None:
        """Close the streams in a forked process, whose parent has the child."""
        for stream in (self._requests, self._answers, self._process.stderr):
            # The stream's own lock may be held by a thread that is not in this process.
            cast("BufferedReader | BufferedWriter", stream).raw.close()

    def close(self) -> None:
        """Close the process's input and wait for its end; it is killed where it goes on."""
        self.end_input()
        self._end_or_kill()

    def _end_or_kill(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self.kill()

    def _close_streams(self) -> None:
        self._deadline.close()
        self._listener.join(_END_SECONDS)
        for stream in (self._requests, self._answers, self._process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
