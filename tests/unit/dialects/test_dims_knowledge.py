"""What dimension expressions know: unknown parts absorb, symbols are 0 or more, extrema do not repeat."""

import pytest

from stepwell.runtime.dims import UNKNOWN, Dim

N = Dim.symbol("N")
ANY = Dim.symbol(UNKNOWN)


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (ANY - ANY, "?"),
        (ANY * 0, "0"),
        (ANY * 2 + 1, "?"),
        (ANY // 2, "?"),
        (ANY.minimum(3), "?"),
        (N.maximum(0), "N"),
        (N.minimum(0), "0"),
        ((N + 1).maximum(N), "N + 1"),
        ((N - 5).maximum(0), "max(0, N - 5)"),
        ((8 * ((N - 1) // 32) + 8).maximum(0), "8 * ((N - 1) floordiv 32) + 8"),
        ((8 * ((N - 1) // 32) + 7).maximum(0), "max(0, 8 * ((N - 1) floordiv 32) + 7)"),
        ((N - 7).ceildiv(4).maximum(-1), "((N - 7) ceildiv 4)"),
        ((N * ((N - 1) // 2)).maximum(0), "max(((N - 1) floordiv 2) * N, 0)"),
        (N.minimum(512).minimum(512), "min(512, N)"),
        (N.minimum(512).minimum(N), "min(512, N)"),
    ],
)
def test_knowledge(dim: Dim, expected: str) -> None:
    assert str(dim) == expected
