"""Export: a compiled model as a file that programs in other languages link or load, and its header."""

from stepwell.lowering.export.c_source import CProgram, export_source
from stepwell.lowering.export.emulation import EmulatedModel
from stepwell.lowering.export.files import Exported, ExportOptions, export_image

__all__ = ["CProgram", "EmulatedModel", "ExportOptions", "Exported", "export_image", "export_source"]
