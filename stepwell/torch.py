"""Stepwell for PyTorch: the backend of `torch.compile`, and modules compiled as functions of tensors."""

from stepwell.tools.pytorch.backend import StepwellWarning, dynamo_backend, refresh

__all__ = ["StepwellWarning", "dynamo_backend", "refresh"]
