"""Model files in and out."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell.frontend.exporter import export_onnx
    from stepwell.frontend.formats import read_model
    from stepwell.frontend.importer import import_onnx
    from stepwell.frontend.source import ModelSource, ModelWarning

__all__ = ["ModelSource", "ModelWarning", "export_onnx", "import_onnx", "read_model"]

_LAZY = {
    "ModelSource": "source",
    "ModelWarning": "source",
    "export_onnx": "exporter",
    "import_onnx": "importer",
    "read_model": "formats",
}
"""The file of each name, imported when the name is first used."""


def __getattr__(name: str) -> object:
    """A function or class of a file of this folder."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    return value
