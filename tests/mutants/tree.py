"""Copies of the source tree, below `build/`, in which mutants are made: a working tree is never edited."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.imports import ROOT

WORK = ROOT / "build" / "mutants"
"""Everything that `make mutants` writes."""
FOLDERS = ("passes", "lowering", "patterns", "runtime")
"""The folders that are mutated."""


def tracked_files(root: Path = ROOT) -> list[str]:
    """The files of a checkout that git knows or would take, relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and os.path.lexists(root / name)]


def copy_tree(target: Path) -> Path:
    """
    Copy the checkout; what the folder had is gone. Byte code is made once, each file of it valid for one text
    of its source only: time stamps of a second cannot tell a mutant from its original.
    """
    shutil.rmtree(target, ignore_errors=True)
    for name in tracked_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    folders = [*FOLDERS, "dialects", "frontend", "tools", "tests", "stepwell"]
    command = ["compileall", "-q", "--invalidation-mode", "checked-hash", *folders]
    subprocess.run([sys.executable, "-m", *command], cwd=target, check=True, stdout=subprocess.DEVNULL)
    return target


def environment(tree: Path, **more: str) -> dict[str, str]:
    """The environment of a Python whose Stepwell is a copy, which writes no byte code."""
    paths = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return os.environ | paths | more


def source_files(root: Path = ROOT) -> list[str]:
    """The files that are mutated, relative to the root."""
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    return sorted(path.relative_to(root).as_posix() for path in found)


def digest_of(root: Path, files: Sequence[str]) -> str:
    """A digest of names and contents of files."""
    digest = hashlib.blake2b(digest_size=8)
    for name in files:
        digest.update(name.encode() + b"\0" + (root / name).read_bytes() + b"\0")
    return digest.hexdigest()
