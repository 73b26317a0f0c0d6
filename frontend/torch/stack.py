"""The user's line and the module of a node, from what torch records of a call."""

from __future__ import annotations

import re

_FRAME = re.compile(r'File "([^"\n]{1,4096})", line (\d{1,9})')


def user_line(stack: str) -> tuple[str, int]:
    """The innermost frame of a trace outside of torch: file and line; nothing for a trace without one."""
    for file, line in reversed(_FRAME.findall(stack)):
        if "site-packages/torch/" not in file and not file.startswith("torch/") and not file.startswith("<"):
            return file, int(line)
    return "", 0


def module_text(path: str, class_name: str) -> str:
    """A module for a diagnostic: `layer1.0.conv1 (Conv2d)`."""
    title = class_name.rpartition(".")[2]
    return f"{path} ({title})" if path and title else path
