"""The plugins that a reduced case needs, as files beside it."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import copyfile


def attached_plugin(word: str, folder: Path) -> str | None:
    """
    The name of a plugin's file in the folder of a case, where a copy is made if there is none.

    Returns: None for a dotted module, for a plugin that imports modules beside it, which the copy would not
    find, and where another file has the name already.
    """
    plugin = Path(word).resolve()
    if plugin.suffix != ".py" or not plugin.is_file():
        return None
    copy = folder.resolve() / plugin.name
    if copy == plugin:
        return plugin.name
    if _imports_beside(plugin):
        return None
    if not copy.exists():
        copyfile(plugin, copy)
    return plugin.name if copy.read_bytes() == plugin.read_bytes() else None


def _imports_beside(plugin: Path) -> bool:
    """Whether a module of the plugin's folder is imported, but for the plugin."""
    files = {file for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    return any(Path(file).parent == plugin.parent and Path(file).name != plugin.name for file in files)
