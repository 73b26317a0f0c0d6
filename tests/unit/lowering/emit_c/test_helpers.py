"""Helpers of C files against numpy, on numbers where they differ from what C would do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from stepwell.lowering.emit_c.helpers import HELPERS, helper_texts
from stepwell.runtime.interface import Array
from tests.support.c_sources import SANITIZED, STRICT
from tests.support.components import needs_program

_PROGRAM = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
{helpers}
int main(void) {{
  static {source} x[{count}];
  static {result} y[{count}];
  FILE *file = fopen("x.bin", "rb");
  if (file == NULL || fread(x, sizeof x, 1, file) != 1) return 1;
  fclose(file);
  for (int i = 0; i < {count}; i++) y[i] = {name}(x[i]);
  file = fopen("y.bin", "wb");
  if (file == NULL || fwrite(y, sizeof y, 1, file) != 1) return 1;
  fclose(file);
  return 0;
}}
"""
_C = {"float32": "float", "float64": "double"}


def called(folder: Path, name: str, x: Array, result: str) -> Array:
    """The results of a helper for an array."""
    needs_program("gcc")
    types = {"source": _C.get(x.dtype.name, f"{x.dtype.name}_t"), "result": _C.get(result, f"{result}_t")}
    text = _PROGRAM.format(helpers=helper_texts([name]), count=x.size, name=name, **types)
    (folder / "p.c").write_text(text)
    x.tofile(folder / "x.bin")
    done = subprocess.run(
        ["gcc", *STRICT, *SANITIZED, "p.c", "-o", "p"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    subprocess.run(["./p"], cwd=folder, check=True)
    return np.fromfile(folder / "y.bin", result)


def numbers(dtype: str) -> Array:
    """Special numbers, halves, and random bits of a float type."""
    info, rng = np.finfo(dtype), np.random.default_rng(3)
    bits = rng.integers(0, (1 << 64) - 1, 4000, np.uint64, endpoint=True)
    random = bits.view(np.float64) if dtype == "float64" else bits.astype(np.uint32).view(np.float32)
    halves = np.arange(-9, 9.5, 0.5)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, 8388609.0]
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(special, np.float64), halves, random]).astype(dtype)


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("sqrt", np.sqrt),
        ("floor", np.floor),
        ("ceil", np.ceil),
        ("trunc", np.trunc),
        ("roundeven", np.rint),
        ("abs", np.abs),
    ],
)
def test_functions_of_floats_have_the_bits_of_numpy(
    name: str, meaning: np.ufunc, dtype: str, tmp_path: Path
) -> None:
    x, short = numbers(dtype), f"f{dtype[5:]}"
    found = called(tmp_path, f"{short}_{name}", x, dtype)
    with np.errstate(all="ignore"):
        wanted = meaning(x)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    kept = ~np.isnan(wanted)
    bits = f"u{np.dtype(dtype).itemsize}"
    np.testing.assert_array_equal(found[kept].view(bits), wanted[kept].view(bits))


def test_halves_round_away_from_0(tmp_path: Path) -> None:
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.2, 8388609.0], np.float32)
    found = called(tmp_path, "f32_round", x, "float32")
    np.testing.assert_array_equal(found, [-3, -2, -1, 1, 2, 3, 0, 0, 8388609])


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_casts_to_integers_end_at_the_limits(kind: str, tmp_path: Path) -> None:
    x, limits = numbers("float32"), np.iinfo(kind)
    short = f"{kind[0]}{kind.lstrip('uint')}"
    found = called(tmp_path, f"{short}_of_f32", x, kind)
    whole = np.trunc(np.nan_to_num(x.astype(object).astype(np.float64), nan=0.0))
    wanted = [min(max(int(v), limits.min), limits.max) for v in np.clip(whole, -1e30, 1e30).tolist()]
    assert found.tolist() == wanted


def test_every_f16_and_its_neighbours(tmp_path: Path) -> None:
    every = np.arange(1 << 16).astype(np.uint16)
    wide = called(tmp_path, "f32_of_f16", every, "float32")
    wanted = every.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(wide, wanted)
    finite = np.sort(wanted[np.isfinite(wanted)])
    middles = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    x = np.concatenate([middles, np.nextafter(middles, np.float32(1e9)), numbers("float32")])
    found = called(tmp_path, "f16_of_f32", x, "uint16").view(np.float16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, x.astype(np.float16))


def test_bf16_rounds_to_even(tmp_path: Path) -> None:
    import ml_dtypes

    x = np.concatenate([numbers("float32"), np.float32(1) + np.arange(64, dtype=np.float32) / 1024])
    found = called(tmp_path, "bf16_of_f32", x, "uint16")
    np.testing.assert_array_equal(
        (found.astype(np.uint32) << 16).view(np.float32), x.astype(ml_dtypes.bfloat16).astype(np.float32)
    )


def test_each_helper_comes_after_those_that_it_calls() -> None:
    text = helper_texts(["f16_of_f32", "f32_sqrt"])
    assert text.index("bits_of_f32(") < text.index("f32_of_bits(") < text.index("f32_sqrt(")
    assert "f64" not in text and len(HELPERS) > 60
