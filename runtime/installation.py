"""
The two ways to install Stepwell: `stepwell`, which contains the compiler, or `stepwell-runtime`, which is
`stepwell/__init__.py` and this folder. They have files of the same names, so one replaces the other.
"""

from __future__ import annotations

from os.path import dirname, isdir, isfile, join

from stepwell.runtime.errors import StepwellError

MARK = "installed_alone.txt"
"""A file beside this one in the wheel `stepwell-runtime`, and nowhere else."""


def expect_compiler(wanted: str, folder: str = dirname(__file__)) -> None:
    """
    Require the whole of Stepwell.

    Args: `wanted` is what needs the compiler, the subject of the message; `folder` is that of the runtime.
    Raises: StepwellError `missing-package` where the runtime is installed by itself, `two-installations`
    where the whole is installed besides.
    """
    if not isfile(join(folder, MARK)):
        return
    if isdir(join(dirname(folder), "tools")):
        raise StepwellError(
            "two-installations",
            None,
            "stepwell and stepwell-runtime are both installed, and have files of the same names",
            help="pip uninstall -y stepwell stepwell-runtime, then install one of them",
        )
    raise StepwellError(
        "missing-package",
        None,
        f"{wanted} needs the compiler, and only stepwell-runtime is installed, which runs artifacts",
        help="pip uninstall -y stepwell-runtime, then pip install stepwell",
    )
