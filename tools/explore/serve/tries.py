"""Tries of edited kernels, each in a process of its own, one at a time; and their files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from shlex import quote
from threading import Lock
from typing import Any, cast

from stepwell.lowering.kernels.handover import error_of, handed_over
from stepwell.passes.context import PassContext
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.json_values import as_mapping
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.plugins import load_options
from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.explore.serve.cases import KernelCase
from stepwell.tools.explore.serve.edits import edit_of, expect_trust
from stepwell.tools.explore.serve.new_file import write_new_text
from stepwell.tools.explore.serve.try_worker import PROGRAM, SECONDS

MEMORY_BYTES = 4 << 30
"""The address space of a try."""
MAX_ANSWER_BYTES = 1 << 28
MAX_RUNS = 100
MAX_KEPT = 100
"""So many tries have files; older ones are forgotten."""
_RUNS = 7
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@dataclass
class Tries:
    """
    The tries of a server.

    Args: `kernels` are the kernels by their id in the explorer's data; `context` is the pass context of the
    server; `folder` is where `keep` writes; `trusts_ir` admits text that is code; `seconds` is the time limit
    of a try.
    """

    kernels: Mapping[str, KernelCase]
    target: TargetDescription
    context: PassContext
    threads: int
    folder: Path
    trusts_ir: bool = False
    seconds: float = SECONDS
    _files: dict[int, str] = field(default_factory=dict[int, str])
    _numbers: count[int] = field(default_factory=lambda: count(1))
    _lock: Lock = field(default_factory=Lock)
    _turn: Lock = field(default_factory=Lock)
    _running: Child | None = None
    _newest: int = 0
    _spare: Child | None = None
    _closed: bool = False

    def run(self, kernel: str, body: object) -> Data:
        """
        Try an edit: the steps of the kernel from there, assembly, difference and times.

        Args: `body` is the JSON value of a request. A try that still runs is ended.
        Raises: StepwellError `no-value` for an unknown kernel; `bad-data`; `needs-trust`; `superseded`,
        `timed-out`, `kernel-crashed`; of the parser, a pass or a run.
        """
        case = self._case(kernel)
        edit = edit_of(body)
        expect_trust(edit, self.trusts_ir)
        fields = as_mapping(body)
        threads = _number(fields, "threads", self.threads, self.threads)
        request: Data = {"target": self.target.to_json(), "kernel": case.text, "edit": list(edit)}
        request |= {"threads": threads, "runs": _number(fields, "runs", _RUNS, MAX_RUNS)}
        with self._lock:
            self._newest = number = next(self._numbers)
            if self._running is not None:
                self._running.stop()
        with self._turn:
            data = self._answer(number, request, case.packed_inputs())
        steps = f"// RUN: stepwell-opt %s -p '{data.pop('pipeline')}'{load_options()}\n"
        with self._lock:
            self._files[number] = f"{steps}{data.pop('file')}"
            for old in list(self._files)[:-MAX_KEPT]:
                del self._files[old]
        return {"id": number, **data}

    def _case(self, kernel: str) -> KernelCase:
        if kernel not in self.kernels:
            message = f"the model has no kernel {kernel!r}"
            raise StepwellError("no-value", None, message, help=f"the kernels are {', '.join(self.kernels)}")
        return self.kernels[kernel]

    def _answer(self, number: int, request: Data, inputs: bytes) -> Data:
        """The answer of a new process; another one is started for the next try."""
        with self._lock:
            self._expect_newest(number)
            self._running = child = self._spare or self._new_child()
            self._spare = None
        try:
            if (
                refusal := child.ask(handed_over(self.context), seconds=self.seconds).head.get("error")
            ) is not None:
                raise StepwellError("bad-plugin", None, str(refusal))
            head, answer = child.ask(request, inputs, seconds=self.seconds)
        except ChildError as error:
            self._expect_newest(number)
            raise self._ended(error) from None
        finally:
            with self._lock:
                self._running = None
            child.kill()
            self.prepare()
        if "error" in head:
            raise error_of(cast("dict[str, Any]", head["error"]), "the edited kernel")
        return cast(Data, json.loads(answer))

    def _expect_newest(self, number: int) -> None:
        if number != self._newest or self._closed:
            raise StepwellError("superseded", None, "a newer try, or the end of the server, ended this one")

    def _ended(self, error: ChildError) -> StepwellError:
        """The error of a process that ended without an answer."""
        if error.is_late:
            message = f"the try took more than {self.seconds:g} s and was ended"
            return StepwellError("timed-out", None, message)
        message = f"the process of the edited kernel gave no answer: {error.reason}"
        return StepwellError("kernel-crashed", None, message, note=error.last_output or ())

    def _new_child(self) -> Child:
        return Child(PROGRAM, memory_bytes=MEMORY_BYTES, answer_bytes=MAX_ANSWER_BYTES, forward_errors=False)

    def prepare(self) -> None:
        """Start the process of the next try, which takes the time of its imports."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = self._new_child()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            for child in (self._running, self._spare):
                if child is not None:
                    child.stop()
            if self._spare is not None:
                self._spare.kill()

    def file(self, number: int) -> str:
        """The IR of a try as a file that `stepwell-opt` runs. Raises: StepwellError `no-value`."""
        with self._lock:
            if number not in self._files:
                raise StepwellError("no-value", None, f"there is no try {number}")
            return self._files[number]

    def keep(self, number: int, body: object) -> Data:
        """
        Write the file of a try into the server's folder.

        Raises: StepwellError `no-value`; `bad-data` for no plain name; `cannot-write`, also where it exists.
        """
        text = self.file(number)
        try:
            name = as_mapping(body).get("file")
        except TypeError:
            name = None
        if not isinstance(name, str) or not _is_plain(name):
            message = f"expected the name of a .mlir file without a folder, found {name!r}"
            raise StepwellError("bad-data", None, message)
        write_new_text(self.folder / name, text)
        return {"file": name, "command": f"stepwell-opt {quote(name)}"}


def _number(fields: Mapping[str, object], name: str, default: int, most: int) -> int:
    """A number of a request, from 1 on. Raises: StepwellError `bad-data`."""
    value = fields.get(name, default)
    if type(value) is not int or not 1 <= value <= most:
        message = f"{name}: expected a number from 1 to {most}, found {value!r}"
        raise StepwellError("bad-data", None, message)
    return value


def _is_plain(name: str) -> bool:
    stem = name.removesuffix(".mlir")
    return stem != name and 0 < len(stem) <= 100 and stem[0] not in ".-" and _NAME_CHARS.issuperset(stem)
