"""The parameters of a kernel as annotations of a script, and its symbols as extents of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp

from stepwell.dialects.types import DimsAttr
from stepwell.frontend.script.write_uses import tensor_type_of
from stepwell.frontend.script.write_words import type_name
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def annotation_of(func: FuncOp, number: int) -> str:
    """The extents and the type of an argument. Raises: StepwellError `script-syntax`."""
    type = tensor_type_of(func.body.block.args[number])
    sizes = [str(size) for size in type.get_shape()]
    if (dims := _dims(func, number)) is not None:
        sizes = [str(d) if d.is_static else f'"{d}"' for d in dims]
    elif DYNAMIC_INDEX in type.get_shape():
        message = f"a size of input {number} has no name (graph.dims)"
        raise StepwellError("script-syntax", func, message)
    return ", ".join([*sizes, f'"{type_name(type.element_type)}"'])


def extent_of(func: FuncOp, symbol: str, names: Sequence[str]) -> str:
    """A symbol as the extent of an input, given the names of the inputs. Raises: StepwellError."""
    for number, name in enumerate(names):
        for axis, dim in enumerate(_dims(func, number) or ()):
            if str(dim) == symbol:
                return f"{name}.shape[{axis}]"
    raise StepwellError("script-syntax", func, f"no input has the size {symbol} as a dimension")


def _dims(func: FuncOp, number: int) -> Sequence[Dim] | None:
    """The dimensions of an argument by name, where these are known."""
    dims = None if func.arg_attrs is None else func.arg_attrs.data[number].data.get("graph.dims")
    return dims.get() if isinstance(dims, DimsAttr) else None
