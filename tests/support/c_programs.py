"""Programs in C and C++ that tests build with the system's compiler, and run."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.support.components import needs_program

C99 = ("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1")
CLANG = ("clang", *C99[1:])
CXX = ("g++", "-std=c++11", "-x", "c++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1")


def build(
    folder: Path, source: str, libraries: Sequence[str | Path], command: Sequence[str] = C99, *flags: str
) -> Path:
    """The program of a source in a folder, in which headers and libraries are."""
    needs_program(command[0])
    file, program = folder / "program.c", folder / "program"
    file.write_text(source)
    language = ["-x", "none"] if "-x" in command else []
    paths = [f"./{library}" for library in libraries]
    line = [*command, *flags, "program.c", *language, *paths, "-o", str(program), f"-Wl,-rpath,{folder}"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *args: object) -> dict[str, str]:
    """The lines `name value` that a program prints."""
    line = [str(program), *map(str, args)]
    done = subprocess.run(line, cwd=program.parent, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    return dict(text.split(" ", 1) for text in done.stdout.splitlines())


def written(folder: Path, name: str, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[np.generic]:
    """The numbers in a file that a program wrote."""
    return np.fromfile(folder / name, dtype)
