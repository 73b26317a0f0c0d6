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
from threading import Thread
from typing import IO, Any, cast

from stepwell.runtime.frames import Frame, Head, read_frame, write_frame

NICENESS = 5
_FOLDERS: list[str] = []
"""The folder of this process for a model that is not in the cache."""


def main(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Compile the model of one request, and wait for the end of the stream."""
    with suppress(OSError):
        os.setpgid(0, 0)  # with its workers, which end with it; Ctrl-C is for the parent alone
    with suppress(OSError):
        os.nice(NICENESS)
    given: SimpleQueue[Frame] = SimpleQueue()
    listener = Thread(target=_listen, args=(requests, given), daemon=True)
    listener.start()
    from stepwell.tools.driver import lower  # takes half a second, while the parent reads the model

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
    """The effort of a compilation, and the file of the model where it is not in the cache; or the error."""
    from stepwell.lowering.kernels.handover import described
    from stepwell.tools.failure import user_error

    try:
        return compiled(request.head, request.body)
    except (MemoryError, OSError) as error:
        return {"error": described(user_error(error))}
    except Exception as error:
        return {"error": described(error)}


def compiled(head: Mapping[str, Any], body: bytes) -> Head:
    """Compile the model of a request. Raises: StepwellError."""
    from stepwell.lowering.kernels.handover import taken_over
    from stepwell.runtime.files.artifact import save
    from stepwell.runtime.files.model_cache import ModelCache
    from stepwell.tools.driver.kept_models import KeptModel
    from stepwell.tools.driver.lower import lower_and_compile
    from stepwell.tools.driver.options import CompileOptions
    from stepwell.tools.driver.plugins import load_plugin

    kept = None
    if (entry := head["kept"]) is not None:
        kept = KeptModel(Path(entry["path"]), entry["key"], tuple(entry["stamp"]))
    with taken_over(cast(Head, head), load_plugin):
        image = lower_and_compile(head["model"] or body, CompileOptions(**head["options"]), kept, None)
    if kept is not None and ModelCache().path(kept.key).exists():
        return {"effort": image.effort, "file": None}
    _FOLDERS.append(mkdtemp(prefix="stepwell-"))
    save(image, file := os.path.join(_FOLDERS[0], "model.stepwell"))
    return {"effort": image.effort, "file": file}
