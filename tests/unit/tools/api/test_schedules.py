"""Schedules in Python: steps, refusals, replay, random legal steps against the interpreter."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import StepwellError, te
from stepwell.passes import PassContext
from tests.support.samples import repetitions
from tests.unit.tools.api.schedule_kernels import KERNELS, product, stencil

DRAW = np.random.default_rng(2)
WORDS = (
    *("split", "reorder", "parallel", "vectorize", "unroll", "inside") * 2,
    *("fuse", "cache_read", "cache_write", "rfactor", "compute_at", "compute_inline"),
    *("reverse_compute_inline", "transform_layout", "tensorize", "pad", "storage_align"),
)


def blocked(m: int, n: int, k: int) -> tuple[list[te.Tensor], te.Schedule]:
    inputs, c = product(m, n, k)
    s = te.create_schedule(c)
    i, j, r = s[c].loops
    io, jo, ii, ji = s[c].tile(i, j, 32, 16)
    ro, ri = s[c].split(r, 4)
    s[c].reorder(io, jo, ro, ii, ri, ji)
    s[c].vectorize(ji)
    s[c].parallel(io)
    return inputs, s


def test_steps_are_a_script_and_a_nest() -> None:
    inputs, s = blocked(64, 48, 32)
    assert [str(loop) for loop in s["C"].loops] == ["i.0", "j.0", "r.0", "i.1", "r.1", "j.1"]
    assert s.script.splitlines()[3:] == [
        "  %i0, %j0, %i1, %j1 = sched.tile %i, %j by [32, 16]",
        "  %r0, %r1 = sched.split %r by [?, 4]",
        "  sched.reorder %i0, %j0, %r0, %i1, %r1, %j1",
        "  sched.vectorize %j1",
        "  sched.parallel %i0",
        "}",
    ]
    assert "    for j.0 in 0..3: 6,144 bytes\n      for r.0 in 0..8: 768 bytes" in s.explain()
    assert re.search(r"\nk0: \d+ vector registers, 0 spills$", s.explain(code=True))
    assert s.exact
    x, w = DRAW.standard_normal((64, 32), np.float32), DRAW.standard_normal((32, 48), np.float32)
    found: Any = te.build(inputs, s, threads=1)(x, w)
    np.testing.assert_allclose(found, x @ w, rtol=1e-4, atol=1e-4)


def test_a_schedule_with_remainders_is_equal() -> None:
    inputs, c = product(17, 19, 23)
    s = te.create_schedule(c)
    i, j, r = s[c].loops
    s[c].split(i, 4)
    s[c].split(j, 8)
    s[c].split(r, 5)
    x, w = DRAW.standard_normal((17, 23), np.float32), DRAW.standard_normal((23, 19), np.float32)
    found: Any = te.build(inputs, s, threads=1)(x, w)
    np.testing.assert_allclose(found, x @ w, rtol=1e-4, atol=1e-4)


def test_a_refused_step_changes_nothing() -> None:
    _, s = blocked(64, 48, 32)
    before, nest = s.script, s.explain()
    with pytest.raises(StepwellError, match=r"parallel\(r.0\): loop r.0 of C is summed over") as error:
        s["C"].parallel(s["C"].loops[2])
    assert error.value.code == "illegal-schedule"
    assert "for all r in 0..32" in error.value.notes[0]
    assert (s.script, s.explain()) == (before, nest)
    with pytest.raises(StepwellError, match="there is no stage D"):
        s["D"].loops  # noqa: B018
    with pytest.raises(StepwellError, match="factors are positive"):
        s["C"].split(s["C"].loops[1], 0)
    assert s.script == before


def test_a_loop_that_was_split_is_named_by_its_parts() -> None:
    _, c = product(32, 16, 8)
    s = te.create_schedule(c)
    i, *_ = s[c].loops
    s[c].split(i, 4)
    with pytest.raises(StepwellError, match=r"loop i was split: it is i.0 and i.1 now"):
        s[c].parallel(i)


def test_lanes_of_a_sum_are_not_exact() -> None:
    _, c = product(8, 16, 32)
    s = te.create_schedule(c)
    s[c].vectorize(s[c].loops[2])
    assert not s.exact
    strict = te.create_schedule(c, exact=True)
    with pytest.raises(StepwellError, match="changes the order in which C adds"):
        strict[c].vectorize(strict[c].loops[2])
    assert "vectorize" not in strict.script


def test_undo_and_copy() -> None:
    _, s = blocked(64, 48, 32)
    other, text = s.copy(), s.script
    s.undo()
    assert "sched.parallel" not in s.script
    assert other.script == text
    s["C"].parallel(s["C"].loops[0])
    assert s.script == text
    empty = te.create_schedule(product(4, 4, 4)[1])
    with pytest.raises(StepwellError, match="no step to take back"):
        empty.undo()


def test_legal_words_are_those_that_are_taken() -> None:
    _, s = blocked(64, 48, 32)
    legal = {word: [str(loop) for loop in loops] for word, loops in s.legal("C").items()}
    assert legal.pop("split") == ["j.0", "r.0", "i.1", "r.1"]
    assert legal == {
        **{"parallel": ["j.0"], "unroll": ["r.1"], "inside": ["r.1"]},
        **{"compute_root": [], "stream": []},  # of the whole stage
    }
    _, c = product(8, 8, 8)
    assert [str(loop) for loop in te.create_schedule(c).legal(c)["rfactor"]] == ["r"]


def test_replay_of_a_text_and_of_a_file(tmp_path: Path) -> None:
    inputs, s = blocked(64, 48, 32)
    file = tmp_path / "s.mlir"
    file.write_text(s.script)
    for script in (s.script, file):
        again = te.Schedule.replay(te.lower(inputs, s.outputs), script)
        assert again.script == s.script
        assert str(again.module) == str(te.lower(inputs, s))
    again["C"].unroll(again["C"].loops[4])
    with pytest.raises(StepwellError, match="has no stage D") as error:
        te.Schedule.replay(te.lower(inputs, s.outputs), s.script.replace('"C"', '"D"'))
    assert error.value.code == "illegal-schedule"


def test_a_stage_in_the_loops_of_another_one() -> None:
    inputs, y = stencil()
    s = te.create_schedule(y)
    s["rows"].compute_root()
    assert "sched.compute_root %rows" in s.script
    s.validate(n=1)
    assert len(inputs) == 1


def step(s: te.Schedule, random: Random) -> None:
    """A random step; one that is not legal must change nothing."""
    at, before = s[random.choice(s.stages)], s.script
    try:
        loops = at.loops
        loop = random.choice(loops)
        match random.choice(WORDS):
            case "split":
                at.split(loop, random.choice([0, 1, 2, 3, 4, 8, 1 << 40]))
            case "reorder":
                at.reorder(*random.sample(loops, min(len(loops), 2)))
            case "unroll":
                at.unroll(loop, 16)
            case "fuse":
                at.fuse(loop, random.choice(loops))
            case "cache_read":
                s.cache_read(random.choice([*s.stages, "x", "A", "B"]), "arena", [at])
            case "compute_at":
                at.compute_at(other := s[random.choice(s.stages)], random.choice(other.loops))
            case "transform_layout":
                by = random.choice([2, 3, 4])
                at.transform_layout(random.choice("xAB"), lambda i, j: (j // by, i, j % by))
            case "storage_align":
                at.storage_align(random.choice([0, 1, 2]), random.choice([0, 5, 8]), random.choice([0, 3]))
            case "pad":
                at.pad(loop, random.choice([0, 4, 6, 1 << 40]))
            case "tensorize":
                at.tensorize(loop, random.choice(["fma.1", "fma.2", "fma.5x6x7", "fma.2x3", "dot_bytes"]))
            case "cache_write" | "compute_inline" | "reverse_compute_inline" as word:
                getattr(at, word)()
            case word:
                getattr(at, word)(loop)
    except StepwellError as error:
        assert error.code == "illegal-schedule", error
        assert s.script.startswith(before.removesuffix("}\n"))


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", KERNELS)
def test_random_legal_steps_keep_the_meaning(name: str) -> None:
    inputs, outputs = KERNELS[name]()
    for seed in range(repetitions(30) // 3):
        random = Random(seed)
        s = te.create_schedule(outputs)
        for _ in range(20):
            step(s, random)
        s.validate(n=1, seed=seed)
        again = te.Schedule.replay(te.lower(inputs, outputs), s.script)
        assert str(again.module) == str(te.lower(inputs, s))


def test_a_loop_in_a_number_of_parts() -> None:
    x = te.placeholder((83, te.var("m")), name="x")
    y = te.compute(x.shape, lambda i, j: x[i, j] * 2.0, name="y")
    s = te.create_schedule(y)
    i, j = s[y].loops
    s[y].split(i, nparts=3)
    assert "sched.split %i by [?, 28]" in str(s)
    with pytest.raises(StepwellError, match="the extent of j is known at run time only") as error:
        s[y].split(j, nparts=3)
    assert error.value.code == "illegal-schedule"
    with pytest.raises(StepwellError, match="factors are positive"):
        s[y].split(s[y].loops[0], nparts=0)
    for words in ({}, {"factor": 2, "nparts": 2}):
        with pytest.raises(StepwellError, match="takes one of factor, nparts and factors"):
            s[y].split(j, **words)  # pyright: ignore[reportArgumentType]
    data = np.ones((83, 2), np.float32)
    np.testing.assert_array_equal(te.build([x], s, threads=1)(data), data * 2)  # pyright: ignore[reportArgumentType]


def test_a_script_of_ten_thousand_steps_is_refused() -> None:
    _, c = product(8, 8, 8)
    s = te.create_schedule(c)
    s[c].parallel(s[c].loops[0])
    steps = "".join("  sched.reorder %i, %j\n" for _ in range(10_000))
    text = s.script.replace("  sched.parallel %i\n", steps)
    with pytest.raises(StepwellError) as error:
        te.Schedule.replay(s.module, text)
    assert error.value.code == "illegal-schedule"
    assert error.value.message.endswith("a script has at most 4096 steps, found 10002")


_SAMPLED = """sched.script @s for "C" {
  %c = sched.stage "C"
  %i, %j, %r = sched.loops %c
  %t = sched.sample_tile %i levels 3 max 16 : [2, 8, 4]
  %i0, %i1, %i2 = sched.split %i by %t
  sched.reorder %i0, %j, %i1, %r, %i2
  sched.parallel %r
  sched.vectorize %j
  sched.unroll %i2
}"""


@pytest.mark.parametrize(("rows", "tiles"), [(64, [32, 4]), (7, [4, 4]), (3, [3, 3])])
def test_choices_of_a_search_on_another_shape(rows: int, tiles: list[int]) -> None:
    inputs, c = product(rows, 48, 8)
    program = te.lower(inputs, c)
    with pytest.raises(StepwellError, match="loop r of C is summed over") as error:
        te.Schedule.replay(program, _SAMPLED)
    assert error.value.where == "schedule:7:3"
    with PassContext() as context:
        s = te.Schedule.replay(program, _SAMPLED, skip_illegal=True)
    skipped = [r.message for r in context.remarks if r.message.startswith("skipped")]
    assert len(skipped) == 2 and "sched.parallel %r" in skipped[0] and "sched.vectorize %j" in skipped[1]
    assert any("is [?, " in r.message for r in context.remarks) == (rows < 32)
    assert f"tile = [{tiles[0]}, 1, 0]" in str(s.module) and f"<tile = [{tiles[1]}, " in str(s.module)
    s.validate(n=1)
    assert te.Schedule.replay(program, s.script).script == s.script


def test_a_stage_names_its_kernel_and_its_form_is_chosen() -> None:
    text = """
func.func @main(%x: tensor<8x64xf32> {graph.name = "x"}) -> (tensor<8x64xf32> {graph.name = "y"}) {
  %y = graph.scan %x kind "sum" axis 0 exclusive false reverse false : tensor<8x64xf32> -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
"""
    module = stepwell.parse(text).to("linalg")
    s = te.Schedule(module, "y")
    s["y"].set_form("columns")
    s["y"].set_size("columns", 32)
    assert 'form = "columns", sizes = {columns = 32}' in str(s.module)
    with pytest.raises(StepwellError, match="there is no stage w"):
        te.Schedule(module, "w")
