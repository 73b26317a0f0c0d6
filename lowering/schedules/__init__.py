"""Choosers of schedules, one for each family of kernels: rules from shapes and the target's description."""

from stepwell.lowering.schedules.choose import ChooseSchedulesPass

__all__ = ["ChooseSchedulesPass"]
