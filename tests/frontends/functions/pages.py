"""Pages of documentation whose code needs a framework: their blocks, run one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from tests.support.imports import ROOT

_BLOCK = re.compile(
    r"<!-- not run: needs (?P<what>[^\n]*) -->\n```(?P<language>python|sh)\n(?P<code>.*?)```\n"
    r"(?:```text\n(?P<shown>.*?)```)?",
    re.DOTALL,
)


def run_page(name: str, folder: Path, *, least: int, what: str = "") -> None:
    """
    Run the blocks of a page of `docs/frontends` that are marked `not run: needs …`, in a folder.

    Args: `least` is the least number of such blocks; those are run whose mark begins with `what`.
    """
    text = (ROOT / "docs" / "frontends" / name).read_text(encoding="utf-8")
    blocks = [block for block in _BLOCK.finditer(text) if block["what"].startswith(what)]
    assert len(blocks) >= least, len(blocks)
    space: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        printed = (
            _shell(block["code"], folder) if block["language"] == "sh" else _python(block["code"], space)
        )
        assert not block["shown"] or printed == block["shown"], printed


def _python(code: str, space: dict[str, Any]) -> str:
    output = StringIO()
    with redirect_stdout(output):
        exec(code, space)
    return output.getvalue()


def _shell(code: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    command = ["bash", "-e", "-o", "pipefail", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
