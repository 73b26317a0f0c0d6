"""`pin-composites`: composites of an accelerator's table are pinned to it, or are ops again."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.dev.devices import HOST, ON, device_names, expect_device, on_attribute, pinned
from stepwell.dialects.dev.on_host import refusal_of
from stepwell.dialects.graph_ir.dissolve import dissolve
from stepwell.passes.base import Pass
from stepwell.passes.context import count, remark
from stepwell.patterns.backend_tables import entries_of_backend


@dataclass(frozen=True)
class PinCompositesPass(Pass):
    """
    Pin each composite of a table to a device, unless its ops are pinned to another one.

    ```mlir
    dev.device @npu0 #target.spec<"npu", {}>
    %y = graph.composite (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) attributes {pattern = "npu.add"} {
      %r = graph.relu %a {dev.on = @npu0} : tensor<4xf32> -> tensor<4xf32>
      graph.yield %r : tensor<4xf32>
    }
    // ->
    dev.device @npu0 #target.spec<"npu", {}>
    %y = graph.composite … attributes {dev.on = @npu0, pattern = "npu.add"} {
      %r = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
      graph.yield %r : tensor<4xf32>
    }
    ```
    A composite with ops that are pinned elsewhere, or whose nodes were refused by the device, is ops again,
    which other devices may compute. Runs after `merge-composite`. Class: exact.
    """

    name = "pin-composites"

    table: str
    """The backend whose table made the composites."""
    device: str = HOST
    """The device: one of the module's."""
    pinned: bool = False
    """Whether only composites with an op that is pinned to the device stay."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = device_names(op)
        expect_device(self.device, names, None)
        rows = {entry.name for entry in entries_of_backend(self.table)}
        for each in [found for found in op.walk() if isinstance(found, graph.CompositeOp)]:
            pattern = each.attributes.get("pattern")
            if not isinstance(pattern, StringAttr) or pattern.data not in rows:
                continue
            inner = list(each.body.block.ops)
            pins = {name for one in inner for name in pinned(one.attributes.get(ON), names, one)}
            if (reason := self._reason(each, pins)) is not None:
                remark(each, f"{pattern.data} is not on {self.device}: {reason}")
                dissolve(each)
                continue
            for one in inner:
                one.attributes.pop(ON, None)
            each.attributes[ON] = on_attribute([self.device])
            count(f"composites on {self.device}")

    def _reason(self, composite: Operation, pins: set[str]) -> str | None:
        """The reason for which a composite is ops again, or None."""
        if others := sorted(pins - {self.device}):
            return f"its ops are pinned to {', '.join(others)}"
        if self.pinned and not pins:
            return "no rule gives its ops to the device"
        return refusal_of(composite)
