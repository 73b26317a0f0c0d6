"""
Backends: external engines that compute partitions of a model (bring your own code generator).

`Backend` is the interface, `stepwell.runtime.backends` the registry. Loading a compiled partition imports
neither xDSL nor onnx: so this file, and the modules of backends at their top, do not either.
"""

from stepwell.lowering.backends.base import Arrays as Arrays
from stepwell.lowering.backends.base import Backend as Backend
from stepwell.lowering.backends.base import Constants as Constants
from stepwell.runtime.backends import fill as fill
