"""Kernels that users write as text, and the pass that binds them to ops."""
