"""Operators that the host computes: strings, images."""

FUNCTIONS = "ai.stepwell.ffi"
"""The domain of nodes whose operator is the name of a registered function."""
DTYPES = {
    "bool": "bool",
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
"""The element types of results of such functions, by their names in text."""
