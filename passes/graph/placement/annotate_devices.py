"""`annotate-devices`: what the patterns of a table match is pinned to a device."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.dev.devices import HOST, ON, device_names, expect_device, on_attribute
from stepwell.passes.base import Pass, bodies_of
from stepwell.passes.context import count, remark
from stepwell.patterns.files import entries_of, load_patterns
from stepwell.patterns.table_matches import matches_in, ops_of


@dataclass(frozen=True)
class AnnotateDevicesPass(Pass):
    """
    Give each op of each match of a table's patterns the attribute `dev.on`, unless it has one.

    ```mlir
    %y = graph.conv %x, %w … : (…) -> tensor<1x8x5x5xf32>
    // ->
    %y = graph.conv %x, %w … {dev.on = @npu0} : (…) -> tensor<1x8x5x5xf32>
    ```
    `place-devices` decides the other ops. Class: exact.
    """

    name = "annotate-devices"

    device: str = HOST
    """The device of what matches: one of the module's."""
    file: str = ""
    """The file of the patterns; if empty, the module itself."""
    table: str = ""
    """The name of a table of the file; if empty, all tables, or all patterns of a file without tables."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        on = on_attribute([expect_device(self.device, device_names(op), None)])
        entries = entries_of(load_patterns(self.file, op, ctx, remark), self.table)
        for function in bodies_of(op):
            for _, found in list(matches_in(function, entries)):
                for each in ops_of(found):
                    if ON not in each.attributes:
                        each.attributes[ON] = on
                        count(f"ops on {self.device}")
