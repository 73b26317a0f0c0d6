"""Optional packages: errors for missing ones, and the entry points of installed ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def entry_points(group: str) -> Sequence[EntryPoint]:
    """
    The entry points of a group that installed packages have.

    Most environments have none. Files are searched for the group's name first (2 ms), since the import of
    `importlib.metadata` takes 15 ms.
    """
    if not has_entry_points(group):
        return ()
    from importlib import metadata

    return tuple(metadata.entry_points(group=group))


def installed_version(name: str) -> str:
    """
    The version of an installed package, from the name of its metadata's folder.

    Args: `name` as that folder spells it (`ml_dtypes`).
    Raises: PackageNotFoundError.
    """
    for folder in sys.path:
        for found in _descriptions(folder) or ():
            if found.startswith(f"{name}-") and found.endswith(".dist-info"):
                return found.removesuffix(".dist-info").partition("-")[2]
    from importlib import metadata  # for archives, and packages that were installed in another way

    return metadata.version(name)


def has_entry_points(prefix: str) -> bool:
    """Whether an installed package may have entry points of a group whose name begins so."""
    return any(text is None or f"[{prefix}" in text for folder in sys.path for text in _groups(folder))


@cache
def _groups(folder: str) -> list[str | None]:
    """The texts that list the entry points of the packages in a folder; None for an archive."""
    if (names := _descriptions(folder)) is None:
        return [None]
    texts: list[str | None] = []
    for name in names:
        with suppress(OSError), open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
            texts.append(file.read().decode("utf-8", "replace"))
    return texts


@cache
def _descriptions(folder: str) -> list[str] | None:
    """
    The names of the folders that describe the packages in a folder; None for an archive.

    Each process asks once: `os.listdir` takes a third of the time of `Path.glob`.
    """
    try:
        return [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]
    except NotADirectoryError:
        return None
    except OSError:
        return []


@contextmanager
def needed(purpose: str, *, install: str = "") -> Generator[None]:
    """
    A block of imports.

    Args: `purpose` has the package as its object (`reading CPU features on darwin`); `install` is what pip
    installs, by default the package.
    Raises: StepwellError `missing-package` when one of them is not installed.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "a package").partition(".")[0]
        raise StepwellError(
            "missing-package",
            None,
            f"{purpose} needs {package}, which is not installed",
            help=f"pip install {install or package}",
        ) from None
