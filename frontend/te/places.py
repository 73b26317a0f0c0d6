"""Places in the user's program, for errors about formulas."""

from __future__ import annotations

from os.path import dirname, realpath

from stepwell.runtime.errors import StepwellError

_OURS = (dirname(realpath(__file__)), dirname(__file__))
_FACADES = ("stepwell/te.py", "tools/api/formulas.py")


def user_place() -> str:
    """The file and line of the innermost call from outside of this package."""
    from inspect import currentframe

    frame = currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS) and not file.endswith(_FACADES):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


class FormulaError(StepwellError):
    """An error about a formula, at the user's line."""

    def __init__(self, code: str, message: str, *, help: str | None = None, where: str = ""):
        super().__init__(code, where or user_place(), message, help=help)
