"""Stepwell for PyTorch: the backend of `torch.compile`, and modules compiled as functions of tensors."""

from stepwell.tools.pytorch.backend import StepwellWarning, dynamo_backend, refresh
from stepwell.tools.pytorch.module import GradientWarning, TorchModel, compile_module

__all__ = ["GradientWarning", "StepwellWarning", "TorchModel", "compile_module", "dynamo_backend", "refresh"]
