"""Stepwell for JAX: functions compiled by Stepwell, as `jax.jit` compiles them by XLA."""

from stepwell.tools.frameworks.jax_function import JitFunction, jit

__all__ = ["JitFunction", "jit"]
