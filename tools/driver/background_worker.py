"""
The program of background processes: compiles a model for a parent that answers calls meanwhile.

It ends when its input does, whatever it is doing: with the parent, or when that has taken the model.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
from tempfile import mkdtemp
from typing import IO, Any, cast

from stepwell.runtime.collector import compiler_imports
from stepwell.runtime.frames import Frame, Head, read_frame, write_frame
from stepwell.runtime.machine.fork import ReaderThread

NICENESS = 5
_FOLDERS: list[str] = []
"""The folders of temporary files: of a model that is not in the cache, of a program."""


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Compile the model of one request, and wait for the end of the stream."""
    with suppress(OSError):
        os.setpgid(0, 0)  # with its workers, which end with it; Ctrl-C is for the parent alone
    with suppress(OSError):
        os.nice(NICENESS)
    given: SimpleQueue[Frame] = SimpleQueue()
    listener = ReaderThread(target=_listen, args=(requests, given), daemon=True)
    listener.start()
    with compiler_imports():
        from stepwell.tools.driver import lower  # takes half a second, while the request is written
    del lower
    write_frame(replies, _answer(given.get()))
    listener.join()


def _listen(requests: IO[bytes], given: SimpleQueue[Frame]) -> None:
    """Pass the request on; end this process and its workers when the stream ends."""
    while (frame := read_frame(requests)) is not None:
        given.put(frame)
    from stepwell.runtime.files.whole_files import remove_unfinished

    remove_unfinished()
    for folder in _FOLDERS:
        rmtree(folder, ignore_errors=True)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _answer(request: Frame) -> Head:
    """The effort of a compilation, the file of a model that no cache has, or the error; messages."""
    from stepwell.lowering.kernels.handover import described
    from stepwell.runtime.log import collecting
    from stepwell.tools.failure import user_error

    with collecting() as messages:
        try:
            answer = compiled(request.head, request.body)
        except (MemoryError, OSError) as error:
            answer = {"error": described(user_error(error))}
        except Exception as error:
            answer = {"error": described(error)}
    return {**answer, "log": messages}


def compiled(head: Mapping[str, Any], body: bytes) -> Head:
    """Compile the model of a request. Raises: StepwellError."""
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.lowering.kernels.handover import taken_over
    from stepwell.runtime.files.artifact import save
    from stepwell.runtime.machine.target import TargetDescription
    from stepwell.tools.driver.ir_files import read_ir
    from stepwell.tools.driver.kept_models import KeptModel, expect_unchanged
    from stepwell.tools.driver.lower import lower_and_compile
    from stepwell.tools.driver.options import CompileOptions
    from stepwell.tools.driver.plugins import load_plugin
    from stepwell.tools.driver.program import Program

    os.chdir(head["folder"])
    kept = None
    if head["stamp"] is not None:
        path, stamp = Path(head["model"]), tuple(head["stamp"])
        expect_unchanged(path, stamp)
        kept = None if head["setting"] is None else KeptModel(path, head["setting"], stamp)
    with taken_over(cast(Head, head), load_plugin):
        model = head["model"] or body
        if head["target"] is not None:
            _FOLDERS.append(os.path.dirname(head["model"]))  # the parent removes it, unless it is killed
            ctx = StepwellContext()
            ctx.target = TargetDescription.from_json(head["target"])
            model = Program(read_ir(Path(head["model"]), ctx), ctx)
        image = lower_and_compile(model, CompileOptions(**head["options"]), kept, None)
    if kept is not None and kept.is_stored():
        return {"effort": image.effort, "file": None, "key": kept.key}
    _FOLDERS.append(mkdtemp(prefix="stepwell-"))
    save(image, file := os.path.join(_FOLDERS[-1], "model.stepwell"))
    return {"effort": image.effort, "file": file, "key": None}
