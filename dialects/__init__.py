"""The dialects of the IR, each in a file or folder of its own."""

from stepwell.dialects._xdsl_speed.attribute_definitions import replace_attribute_definitions
from stepwell.dialects._xdsl_speed.definitions import replace_definitions
from stepwell.dialects._xdsl_speed.plain import replace_metaclass

# Before xDSL's dialects are imported, which have 80 definitions.
replace_metaclass()
replace_definitions()
replace_attribute_definitions()

from stepwell.dialects import _xdsl as _xdsl  # noqa: E402  # before any dialect: it makes assembly formats late
