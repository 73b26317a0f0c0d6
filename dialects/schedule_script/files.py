"""Files of scripts."""

from __future__ import annotations

from pathlib import Path

from xdsl.context import Context

from stepwell.dialects.parser import parse_module
from stepwell.dialects.schedule_script.container import ScriptOp, scripts_of
from stepwell.dialects.verify import verify_module
from stepwell.runtime.errors import StepwellError


def read_scripts(file: str, ctx: Context) -> list[ScriptOp]:
    """The scripts of a file. Raises: StepwellError `no-file`, `syntax`, `invalid-ir`."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StepwellError("no-file", file, f"cannot read the scripts: {error}") from None
    module = parse_module(ctx, text, file)
    verify_module(module)
    return scripts_of(module)
