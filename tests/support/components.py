"""
Packages and programs that some tests want and an installation may lack: asked for here, listed when the tests
end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

MISSING: set[str] = set()
"""The packages and programs that tests of this process wanted and did not find."""


def needs(name: str) -> Any:
    """
    The module of a package; the test, or the file of tests, that asks for it is skipped where there is none.
    """
    try:
        return import_module(name)
    except ImportError:
        MISSING.add(name)
        pytest.skip(f"{name} is not installed", allow_module_level=True)


def needs_program(name: str) -> str:
    """The path of a program; the test, or the file of tests, that asks for it is skipped without it."""
    if (path := shutil.which(name)) is None:
        MISSING.add(name)
        pytest.skip(f"{name} is not installed", allow_module_level=True)
    return path


def needs_node_package(name: str) -> str:
    """
    The folder, for NODE_PATH, in which node finds a package: that of the variable, or of `npm install -g`.

    The test that asks for it is skipped where there is none.
    """
    npm = needs_program("npm")
    own = subprocess.run([npm, "root", "-g"], capture_output=True, text=True, check=True).stdout.strip()
    for folder in [*os.environ.get("NODE_PATH", "").split(os.pathsep), own]:
        if folder and Path(folder, name).is_dir():
            return folder
    MISSING.add(name)
    pytest.skip(f"{name} is not installed")
