"""
Quicker forms of the meanings in f32, for answers before there is compiled code. Class: rounding.

Each computes the numbers of its meaning in another order, or with shorter polynomials: within 1e-5 of the
result's range. Working sets are cut into blocks that stay in the second level cache: numpy's passes over
larger arrays wait for memory.
"""

from stepwell.runtime.meaning.quick import (
    convolution,
    normalization,
    pointwise,
    products,
    recurrent,
    rows,
    windows,
)

__all__ = ["convolution", "normalization", "pointwise", "products", "recurrent", "rows", "windows"]
