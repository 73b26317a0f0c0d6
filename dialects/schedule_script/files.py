"""Files of scripts."""

from __future__ import annotations

from pathlib import Path

from xdsl.context import Context

from stepwell.dialects.parser import parse_module
from stepwell.dialects.schedule_script.container import ScriptOp, scripts_of
from stepwell.dialects.verify import verify_module
from stepwell.runtime.files.unreadable import read_text


def read_scripts(file: str, ctx: Context) -> list[ScriptOp]:
    """The scripts of a file. Raises: StepwellError `no-file`, `syntax`, `invalid-ir`."""
    module = parse_module(ctx, read_text(Path(file), "scripts"), file)
    verify_module(module)
    return scripts_of(module)
