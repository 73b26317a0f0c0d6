"""Functional programs of level 1 → bytecode: functions on registers that call segments of tensor ops."""

from stepwell.lowering.graph_to_vm.convert import ConvertGraphToVmPass

__all__ = ["ConvertGraphToVmPass"]
