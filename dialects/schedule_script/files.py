"""Scripts in files and in texts."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from xdsl.context import Context

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.schedule_script.container import ScriptOp, scripts_of
from stepwell.dialects.verify import verify_module
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import read_text


def read_scripts(file: str, ctx: Context) -> list[ScriptOp]:
    """The scripts of a file. Raises: StepwellError `no-file`, `syntax`, `invalid-ir`."""
    module = parse_module(ctx, read_text(Path(file), "scripts"), file)
    verify_module(module)
    return scripts_of(module)


@lru_cache(maxsize=256)
def script_of_text(text: str) -> ScriptOp:
    """
    The only script of a text, which callers leave as it is.

    Raises: StepwellError `syntax`, `invalid-ir`; `bad-schedule` for a text that is no script, or several.
    """
    module = parse_module(StepwellContext(), text, "script")
    verify_module(module)
    scripts = scripts_of(module)
    if len(scripts) != 1 or len(module.ops) != 1:
        raise StepwellError("bad-schedule", None, f"expected a sched.script, found {text:.80}")
    return scripts[0]
