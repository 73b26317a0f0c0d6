"""Optional packages: an import that fails is an error that says what needs the package."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from stepwell.runtime.errors import StepwellError


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
