"""Builders of `linalg` on tensors with named dimensions and signed elements, for conversions and forms."""
