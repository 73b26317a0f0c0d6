"""Model files in and out, and formulas."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell.frontend.exporter import export_onnx
    from stepwell.frontend.importer import import_onnx
    from stepwell.frontend.source import ModelSource, ModelWarning

__all__ = ["ModelSource", "ModelWarning", "export_onnx", "import_onnx"]

_MODULES = {
    "ModelSource": "source",
    "ModelWarning": "source",
    "export_onnx": "exporter",
    "import_onnx": "importer",
}


def __getattr__(name: str) -> object:
    """A function or class of the folder, imported when it is first used: formulas need none of them."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
