"""Programs in fresh Python processes, with bytecode on disk: start-up, compilations and their cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.util import cache_from_source
from pathlib import Path
from typing import TypeAlias, cast

import stepwell
from stepwell.runtime.environment import CACHE

Figures: TypeAlias = dict[str, float]
"""What a program measured, by name."""

_PRELUDE = """
import json, sys, time
begin = float(sys.argv[1])

def report(**figures):
    import resource
    own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    spent = sum(each.ru_utime + each.ru_stime for each in (own, workers))
    # `ru_maxrss` of a process begins with the memory of the process that started it.
    status = open("/proc/self/status").read()
    largest = max(int(status.partition("VmHWM:")[2].split()[0]), workers.ru_maxrss) / 1024
    print(json.dumps({"processor": spent, "megabytes": largest, **figures}))
"""


def run_fresh(program: str, *args: str, cache: str, sources: Path | None = None) -> Figures:
    """
    The figures that a program passes to `report(**figures)`, its last call.

    The program is Python text; `begin` is the time of its start by `time.monotonic`, `sys.argv[2:]` are
    `args`, `cache` is the folder of its caches, and `sources` another tree of sources to use.
    `processor`: seconds of the process and of its workers,
    imports too; `megabytes`: the largest of these processes.
    Linux only. Raises: CalledProcessError when the program fails.
    """
    environment = {**os.environ, CACHE.name: cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", _PRELUDE + program, str(time.monotonic()), *args]
    done = subprocess.run(
        command, cwd=sources, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return cast(Figures, json.loads(done.stdout.splitlines()[-1]))


def bytecode_note() -> str:
    """A sentence for reports where the compiler's bytecode cannot be written; else empty."""
    folder = Path(cache_from_source(stepwell.__file__)).parent
    if os.access(folder if folder.exists() else folder.parent, os.W_OK):
        return ""
    return f"{folder} cannot be written: every process compiles the compiler's sources, 0.6 s and more.\n"
