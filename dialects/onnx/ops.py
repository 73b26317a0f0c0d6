"""The op classes by name, each made when it is first used; type checkers read `ops.pyi`."""

from stepwell.dialects.onnx.op_class import op_class
from stepwell.dialects.onnx.versions import VERSIONS

_NAMES = {f"{name.rpartition('.')[2]}Op": name for name in VERSIONS}


def __getattr__(name: str) -> object:
    """An op class, or `OPS`, all of them."""
    if name == "OPS":
        return tuple(map(op_class, VERSIONS))
    if name not in _NAMES:
        raise AttributeError(f"module 'stepwell.dialects.onnx' has no attribute {name!r}")
    return op_class(_NAMES[name])
