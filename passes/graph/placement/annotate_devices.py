"""`annotate-devices`: assign to a device the ops that match a table's patterns, or that cost least there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import graph
from stepwell.dialects.dev.devices import HOST, ON, device_names, expect_device, on_attribute, pinned
from stepwell.passes.base import Pass, bodies_of, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.placement.by_cost import Rates, division_of
from stepwell.patterns.files import entries_of, load_patterns
from stepwell.patterns.read_text import TableEntry
from stepwell.patterns.table_matches import matches_in, ops_of
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class AnnotateDevicesPass(Pass):
    """
    Give each op of each match of a table's patterns the attribute `dev.on`, unless it has one.

    ```mlir
    %y = graph.conv %x, %w … : (…) -> tensor<1x8x5x5xf32>
    // ->
    %y = graph.conv %x, %w … {dev.on = @npu0} : (…) -> tensor<1x8x5x5xf32>
    ```
    `place-devices` decides the other ops.

    With `auto` each op of a function goes to the host or to the device, so that work and copies together take
    the least time by the three rates, which the user knows (`stepwell calibrate`). Arguments and results are
    the host's. A remark has the times and the bytes. Class: exact.
    """

    name = "annotate-devices"

    device: str = HOST
    """The device of what matches: one of the module's."""
    file: str = ""
    """The file of the patterns; if empty, the module itself."""
    table: str = ""
    """The name of a table of the file; if empty, all tables, or all patterns of a file without tables."""
    by: str = ""
    """`table`: each table of the file is for the device of its name, those of devices in the text's order."""

    auto: bool = False
    """Whether cost decides, by the rates."""
    host_gflops: int = 0
    """The arithmetic of the host, 10^9 operations a second."""
    device_gflops: int = 0
    link_gbytes: int = 0
    """The copies between host and device, 10^9 bytes a second."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.auto:
            self._divide(op)
            return
        if self.by not in ("", "table"):
            raise StepwellError("bad-option", None, f"by of annotate-devices is table, found {self.by!r}")
        patterns = load_patterns(self.file, op, ctx, remark)
        tables = {self.device: self.table} if not self.by else {name: name for name in patterns.tables}
        if not tables:
            message = "the rules have no pattern.table, and each table is for the device of its name"
            raise StepwellError("bad-pattern", self.file or None, message)
        for device, table in tables.items():
            expect_device(device, device_names(op), None)
            _pin(op, entries_of(patterns, table), device)

    def _divide(self, module: ModuleOp) -> None:
        """Pin each op that costs less on the device. Raises: StepwellError `bad-option`, `bad-device`."""
        rates = Rates(self.host_gflops, self.device_gflops, self.link_gbytes)
        if min(rates.host, rates.device, rates.link) <= 0 or self.device == HOST:
            message = "auto of annotate-devices needs host-gflops, device-gflops, link-gbytes and device"
            raise StepwellError("bad-option", None, message)
        names = device_names(module)
        expect_device(self.device, names, None)
        for function in functions_of(module):
            for block in function.body.blocks:
                pins = {
                    each: pinned(each.attributes[ON], names, each) != [HOST]
                    for each in block.ops
                    if ON in each.attributes
                }
                found = division_of(block, rates, pins)
                for each in found.ops:
                    each.attributes.setdefault(ON, on_attribute([self.device]))
                    count(f"ops on {self.device}")
                times = f"{_us(found.on_device)} us, not {_us(found.on_host)}"
                work = f"{len(found.ops)} ops on {self.device} take {times}"
                remark(function, f"{work}; {found.copied_bytes} bytes are copied in {_us(found.copies)} us")


def _us(picoseconds: int) -> str:
    return f"{picoseconds / 1e6:.3g}"


def _pin(module: ModuleOp, entries: Sequence[TableEntry], device: str) -> None:
    """Pin what patterns match to a device."""
    for function in bodies_of(module):
        for _, found in list(matches_in(function, entries)):
            for each in ops_of(found):
                if ON not in each.attributes and not isinstance(each, graph.ConstantOp):
                    each.attributes[ON] = on_attribute([device])
                    count(f"ops on {device}")
