"""Devices that run parts of a model: their interface, the table of them, and the parts."""

from stepwell.runtime.devices.base import Device, DeviceInfo, Memory, View
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.run_part import PartRunner

__all__ = ["Device", "DeviceInfo", "DevicePart", "Memory", "PartRunner", "View"]
