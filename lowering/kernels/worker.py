"""
A worker process that compiles kernels: a Python that runs `main`, with kernels as text over pipes.

Most of a compilation is Python code, which runs under the interpreter's lock, so a second core needs a second
process. Not fork (live threads), not multiprocessing (it runs an unguarded user script again): a plain
subprocess that reads requests and writes replies, each of them a JSON line and after it as many bytes as the
line states. The first request has the plugins of the parent, which the worker loads too.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from traceback import extract_tb
from typing import IO, Any, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import ExactParser
from stepwell.lowering.kernels.kernel import KernelObject, compile_kernel
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.plugins import LOADED

_LOG = logging.getLogger(__name__)
# Ctrl-C is sent to a worker too: it ends silently, also while it still imports. What a plugin prints goes to
# standard error, since replies are on standard output. Plugins are loaded by a folder above this one.
START = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
replies = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
from stepwell.lowering.kernels.worker import main
def load(name):
    from stepwell.tools.driver.plugins import load_plugin
    load_plugin(name)
main(replies, load)
"""
"""The program of a worker, for `python -c`."""


def write_frame(stream: IO[bytes], head: Mapping[str, object], body: bytes) -> None:
    """Send a message: a JSON line with the size of the body, then the body."""
    stream.write(json.dumps({**head, "bytes": len(body)}).encode() + b"\n" + body)
    stream.flush()


def read_frame(stream: IO[bytes]) -> tuple[dict[str, object], bytes] | None:
    """A received message; None at the end of the stream, or if that cuts the body off."""
    line = stream.readline()
    if not line:
        return None
    head = cast(dict[str, object], json.loads(line))
    size = int(cast(int, head["bytes"]))
    body = stream.read(size)
    return (head, body) if len(body) == size else None


class Worker:
    """The parent's side of a worker process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        plugins = [[plugin.name, plugin.digest] for plugin in LOADED.values()]
        head, _ = self._reply({"path": sys.path, "plugins": plugins}) or ({"error": "it died"}, b"")
        self.refusal = head.get("error")
        """Why the process cannot load the plugins of this one, and is of no use; None where it has."""
        if self.refusal is not None:
            _LOG.debug("a worker cannot load the plugins: %s", self.refusal)

    def _reply(self, head: Mapping[str, object], body: bytes = b"") -> tuple[dict[str, object], bytes] | None:
        """The answer to a request; None from a process that died."""
        stdin, stdout = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        try:
            write_frame(stdin, head, body)
            return read_frame(stdout)
        except OSError:
            return None

    def compile(self, name: str, text: str, target: TargetDescription) -> KernelObject:
        """
        The object of a kernel, passed to the process as the text of a module.

        Raises: StepwellError as `compile_kernel` does; InternalError, naming the kernel, when the worker
        died.
        """
        reply = self._reply({"target": target.to_json()}, text.encode())
        if reply is None:
            status = self._end()
            raise InternalError(name, f"the worker that compiled kernel {name} died (status {status})")
        head, code = reply
        if "error" in head:
            raise _error_of(cast(dict[str, Any], head["error"]), name)
        return KernelObject(code, cast(Mapping[str, object], head["meta"]))

    def close(self) -> None:
        """Close the process's input, wait for its end, and close its output."""
        self._end()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _end(self) -> int:
        """Close the process's input; returns the exit status of the process."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # of a request that a process which died has not read
                self._process.stdin.close()
        return self._process.wait()


def _described(error: StepwellError) -> dict[str, object]:
    """The fields of an error, which `_error_of` makes an error of again."""
    names = ("code", "where", "message", "notes", "help", "excerpt", "reproducer")
    return {name: getattr(error, name) for name in names}


def _error_of(fields: Mapping[str, Any], kernel: str) -> StepwellError:
    """The error of a worker; a defect of ours is located at the kernel, if at nothing else."""
    where, message, notes = fields["where"], fields["message"], fields["notes"]
    if fields["code"] == "internal":
        internal = InternalError(where or f"kernel {kernel}", message, note=notes)
        internal.reproducer = fields["reproducer"]
        return internal
    rest = {name: fields[name] for name in ("help", "excerpt")}
    return StepwellError(fields["code"], where, message, note=notes, **rest)


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Compile kernels from `requests` until the stream ends."""
    while (request := read_frame(requests)) is not None:
        head, text = request
        ctx = StepwellContext()
        try:
            target = TargetDescription.from_json(cast(Mapping[str, object], head["target"]))
            module = ExactParser(ctx, text.decode()).parse_op()
            assert isinstance(module, ModuleOp)
            kernel = compile_kernel(module, ctx, target)
        except StepwellError as error:
            write_frame(replies, {"error": _described(error)}, b"")
        except Exception as error:  # a defect of ours, outside of passes: the parent reports it
            frame = extract_tb(error.__traceback__)[-1]
            note = f"raised at {frame.filename}:{frame.lineno}, in {frame.name}"
            internal = InternalError(None, f"{type(error).__name__}: {error}", note=note)
            write_frame(replies, {"error": _described(internal)}, b"")
        else:
            write_frame(replies, {"meta": dict(kernel.meta)}, kernel.code)


def load_plugins(request: Mapping[str, Any], load: Callable[[str], None]) -> str | None:
    """Load the plugins of the parent; returns what went wrong, or None."""
    sys.path[:] = request["path"]
    for name, digest in request["plugins"]:
        try:
            load(name)
        except StepwellError as error:
            return error.render()
        if digest not in [plugin.digest for plugin in LOADED.values()]:
            return f"{name} has changed since it was loaded"
    return None


def main(replies: IO[bytes], load: Callable[[str], None]) -> None:
    """
    The program of the worker process: requests on its standard input, the first of them with plugins.
    """
    requests = sys.stdin.buffer
    if (first := read_frame(requests)) is not None:
        failed = load_plugins(first[0], load)
        write_frame(replies, {} if failed is None else {"error": failed}, b"")
        serve(requests, replies)
