"""The precisions of products that a compilation may ask for."""

from __future__ import annotations

F32, TF32 = "f32", "tf32"
"""All digits of f32; its range with the 10 bits of fraction that tensor cores of NVIDIA read."""
PRECISIONS = (F32, TF32, "bf16", "f16")
