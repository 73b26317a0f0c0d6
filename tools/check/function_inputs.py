"""Made-up inputs of a function of any level."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np
from xdsl.dialects import func

from stepwell.lowering.interpret import Signature, numpy_dtype
from stepwell.runtime.meaning import Array


def inputs_of_function(
    function: func.FuncOp, symbols: Mapping[str, int] | None = None, seed: int = 0
) -> list[Array]:
    """
    Arrays for a function's inputs that reveal errors: no two elements alike, of both signs; small integers.

    Args: `symbols` gives sizes of dynamic dimensions; others get 5, 6, 7, …
    """
    signature = Signature.of(function)
    told = {name for dims in signature.dims for dim in dims for name in dim.symbols()}
    random = np.random.default_rng(seed)
    sizes = dict(symbols or {})
    free = count(5)
    made: list[Array] = []
    for type, dims in zip(signature.types[: signature.inputs], signature.dims, strict=False):
        for name in sorted({name for dim in dims for name in dim.symbols()} - sizes.keys()):
            sizes[name] = next(free)
        shape = [dim.evaluate(sizes) for dim in dims]
        dtype = numpy_dtype(type)
        if dtype.kind in "iu":
            made.append(random.integers(0, 4, shape).astype(dtype))
        elif dtype.kind == "b":
            made.append(random.integers(0, 2, shape).astype(dtype))
        else:
            made.append(random.standard_normal(shape).astype(dtype))
    if told >= set(signature.names):
        return made
    return [*made, *(np.array(sizes.get(name) or next(free)) for name in signature.names)]
