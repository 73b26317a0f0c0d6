"""Files of Windows and macOS: objects, and libraries that their loaders load."""

from stepwell.lowering.export.systems.macho import macho_library, macho_object
from stepwell.lowering.export.systems.pe import coff_object, pe_library

__all__ = ["coff_object", "macho_library", "macho_object", "pe_library"]
