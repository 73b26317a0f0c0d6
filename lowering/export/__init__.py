"""Export: a compiled model as a file that programs in other languages link or load, and its header."""

from stepwell.lowering.export.emulation import EmulatedModel
from stepwell.lowering.export.files import Exported, ExportOptions, export_image

__all__ = ["EmulatedModel", "ExportOptions", "Exported", "export_image"]
