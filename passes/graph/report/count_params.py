"""`count-params`: prints the number of parameters of a module, and changes nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import graph
from stepwell.dialects.types import WeightAttr, dtype_of, tensor_of
from stepwell.passes.base import ALL_ANALYSES, Pass


@dataclass(frozen=True)
class CountParamsPass(Pass):
    """
    Print to standard error the number of constant tensors, their elements and bytes.

    Equal weights count once. Changes nothing.
    """

    name = "count-params"
    preserves = ALL_ANALYSES

    json: bool = False
    """Print one JSON object: `tensors`, `elements`, `bytes`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        seen: set[object] = set()
        elements = size = 0
        for constant in [each for each in op.walk() if isinstance(each, graph.ConstantOp)]:
            value = constant.value
            key = value.hash if isinstance(value, WeightAttr) else constant
            if key in seen:
                continue
            seen.add(key)
            tensor = tensor_of(constant.result)
            elements += (count := prod(tensor.get_shape()))
            size += count * dtype_of(tensor.element_type).itemsize
        if self.json:
            found = {"tensors": len(seen), "elements": elements, "bytes": size}
            print(json.dumps(found), file=sys.stderr)
            return
        print(f"{elements} parameters in {len(seen)} tensors, {size} bytes", file=sys.stderr)
