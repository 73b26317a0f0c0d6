"""Programs of child processes for tests: one that answers, and some that misbehave."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from typing import IO, Any
from unittest.mock import patch

from stepwell.runtime.frames import Head, read_frame, write_frame

# The compiler is imported where it is needed: it takes ten times as long as what the others do.


def echo(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer what is asked; what is printed is no answer."""
    print("printed")
    while (request := read_frame(requests)) is not None:
        write_frame(replies, request.head | {"pid": os.getpid()}, request.body)


def die(requests: IO[bytes], replies: IO[bytes], *_: object) -> None:
    """End before the first answer."""
    sys.stderr.write("x" * 100_000 + "these are my last output\n")
    sys.exit(3)


def crash(requests: IO[bytes], replies: IO[bytes], *_: object) -> None:
    """End by a signal at the first request."""
    read_frame(requests)
    os.abort()


def hang(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Never answer."""
    sys.stderr.write("I think\n")
    sys.stderr.flush()
    time.sleep(600)


def allocate(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Ask for as much memory as a request says."""
    while (request := read_frame(requests)) is not None:
        bytearray(int(str(request.head["size"])))
        write_frame(replies, {})


def flood(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer with more than anybody wants."""
    write_frame(replies, {}, bytes(1 << 22))


def babble(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer with what is no message."""
    replies.write(b"Segmentation fault\n")
    replies.flush()
    time.sleep(600)


def cut(requests: IO[bytes], replies: IO[bytes]) -> None:
    """End within an answer."""
    replies.write(b'{"bytes": 100}\nabc')
    replies.flush()


def broken_pass(requests: IO[bytes], replies: IO[bytes]) -> None:
    """The compiler of kernels, with a defect in a pass."""
    from stepwell.passes.registry import load_pass
    from stepwell.tools.driver import kernel_worker

    patch.object(load_pass("hoist-addresses"), "apply", _fail).start()
    kernel_worker.main(requests, replies)


def broken_printer(requests: IO[bytes], replies: IO[bytes]) -> None:
    """The compiler of kernels, with a defect after the passes."""
    from stepwell.lowering.kernels import kernel
    from stepwell.tools.driver import kernel_worker

    patch.object(kernel, "emit_llvm", _fail).start()
    kernel_worker.main(requests, replies)


def held_background(requests: IO[bytes], replies: IO[bytes]) -> None:
    """The compiler in the background, which begins when there is a file `go` in the folder of the cache."""
    from stepwell.runtime.files.cache import default_folder
    from stepwell.tools.driver import background_worker

    def held(*arguments: Any) -> Head:
        while not (default_folder() / "go").exists():
            time.sleep(0.01)
        return compiled(*arguments)

    compiled = background_worker.compiled
    patch.object(background_worker, "compiled", held).start()
    background_worker.main(requests, replies)


def background_without_space(requests: IO[bytes], replies: IO[bytes]) -> None:
    """The compiler in the background, which can write small files only."""
    from stepwell.tools.driver import background_worker

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.dont_write_bytecode = True  # Python would leave half a file of it behind
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    background_worker.main(requests, replies)


def _fail(*_: object, **__: object) -> None:
    raise KeyError("a defect")


def bytecode(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer with the folder of bytecode, and whether any is written."""
    while read_frame(requests) is not None:
        write_frame(replies, {"prefix": sys.pycache_prefix, "written": not sys.dont_write_bytecode})


def inherited(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer with the file of a descriptor of the parent, and with its handler of a signal."""
    while (request := read_frame(requests)) is not None:
        file = os.readlink(f"/proc/self/fd/{request.head['descriptor']}")
        handler = signal.getsignal(signal.SIGUSR1)
        write_frame(replies, {"file": file, "handler": signal.Handlers(handler).name})
