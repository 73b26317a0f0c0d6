"""Model files in and out."""

from typing import TYPE_CHECKING

from stepwell.frontend.importer import import_onnx
from stepwell.frontend.source import ModelSource, ModelWarning

if TYPE_CHECKING:
    from stepwell.frontend.exporter import export_onnx

__all__ = ["ModelSource", "ModelWarning", "export_onnx", "import_onnx"]


def __getattr__(name: str) -> object:
    """`export_onnx`, imported when it is first used: a compilation does not need it."""
    if name != "export_onnx":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stepwell.frontend.exporter import export_onnx

    return export_onnx
