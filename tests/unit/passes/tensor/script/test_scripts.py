"""Scripts of schedules: replayed from text they give the same attributes; hostile ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE
from stepwell.passes import PassContext, run_pipeline
from stepwell.runtime.errors import StepwellError
from tests.support.kernels import product
from tests.support.random_schedules import KERNELS, kernel_with_schedules
from tests.support.samples import examples


def _schedules(module: ModuleOp) -> list[Attribute | None]:
    return [op.attributes.get(SCHEDULE) for op in module.walk()]


def _replayed(text: str, script: str, name: str = "s.mlir") -> ModuleOp:
    """A kernel after a script, both of them parsed."""
    ctx = StepwellContext()
    module, scripts = parse_module(ctx, text), parse_module(ctx, script, name)
    for op in list(scripts.ops):
        op.detach()
        module.body.block.add_op(op)
    run_pipeline(module, "apply-schedule", ctx)
    return module


@examples(120)
@given(data=st.data())
def test_scripts_of_schedules_give_the_same_schedules(data: st.DataObject) -> None:
    ctx = StepwellContext()
    scheduled = kernel_with_schedules(data.draw, ctx)
    script, bare = scheduled.clone(), scheduled.clone()
    run_pipeline(script, "schedule-to-script", ctx)
    for op in bare.walk():
        op.attributes.pop(SCHEDULE, None)
    try:
        replayed = _replayed(str(bare), str(script)) if str(script) != "builtin.module {\n}" else bare
    except StepwellError as error:
        assert error.code == "illegal-schedule" and error.notes, error
        with pytest.raises(StepwellError, match="bad-schedule"), PassContext(reproducers=False):
            run_pipeline(scheduled, "tile-and-fuse", ctx)
        return
    assert _schedules(replayed) == _schedules(scheduled)


@pytest.mark.parametrize("name", KERNELS)
def test_scripts_of_what_the_choosers_decide(name: str) -> None:
    ctx = StepwellContext()
    bare = parse_module(ctx, KERNELS[name])
    run_pipeline(bare, "generalize-copies,collapse-loops", ctx)
    scheduled = bare.clone()
    run_pipeline(scheduled, "choose-schedules{mcpu=x86-64-v3}", ctx)
    assert any(_schedules(scheduled))
    run_pipeline(script := scheduled.clone(), "schedule-to-script", ctx)
    assert _schedules(_replayed(str(bare), str(script))) == _schedules(scheduled)


_KERNEL = product("m, n, k", "m, k", "k, n", "m, n", m=5, n=9, k=4)
_LOOPS = '%c = sched.stage "sum"\n  %i, %j, %r = sched.loops %c\n  '


def _refusal(steps: str, kernel: str = _KERNEL) -> StepwellError:
    """The error of steps on the loops of a product; its schedules are as before."""
    with pytest.raises(StepwellError) as refused:
        _replayed(kernel, f'sched.script @s for "k" {{\n  {steps}\n}}')
    return refused.value


_HOSTILE = {
    "a part of a tile as large as 2^40": (
        "%a, %b = sched.split %i by [?, 1099511627776]",
        "split(i): a tile has less than 2^31",
    ),
    "a factor of 2^80": (
        "%a, %b = sched.split %i by [?, 1208925819614629174706176]",
        "1208925819614629174706176 is no number of iterations",
    ),
    "no factors": ("sched.split %i by []", "a tile has less than 2^31 iterations and an outer loop, found 0"),
    "an open inner factor": ("%a, %b = sched.split %i by [2, ?]", "the first may be `?`; found ?"),
    "4,100 steps": ("sched.reorder %i, %j\n" * 4100, "at most 4096 steps, found 4102"),
    "100 splits": (
        "".join(f"%i{n}, %j{n} = sched.split %{f'i{n - 1}' if n else 'i'} by [?, 1]\n" for n in range(100)),
        "a stage has at most 64 loops",
    ),
    "64 factors of 2": (f"sched.split %i by [{', '.join('2' * 64)}]", "less than 2^31 iterations"),
    "a value of another script": ("sched.unroll %elsewhere", "%elsewhere"),
    "a stage as a loop": ("sched.unroll %c", "sched.loop"),
    "lanes of another loop's part": (
        "%a, %b = sched.split %j by [?, 4]\n sched.vectorize %j",
        "vectorize(j): loop j was split: it is j.0 and j.1 now",
    ),
    "the same loop twice": ("sched.parallel %i, %i", "loop i is parallel already"),
    "a reorder of one loop twice": ("sched.reorder %i, %i", "each loop is named once"),
    "lanes of a part that has a part as fine": (
        "%a, %b = sched.split %i by [?, 1]\n sched.vectorize %a",
        "each iteration of loop i.0 has iterations of i.1",
    ),
    "a tile of a part that has fewer iterations": (
        "%a, %b = sched.split %i by [?, 2]\n %d, %e = sched.split %b by [?, 3]",
        "split(i.1): loop i.1 has 2 iterations in one step of i.0, which a tile of 3 exceeds",
    ),
    "an unrolled loop of any extent": ("sched.unroll %i limit -1", "5 copies, at most -1"),
}


@pytest.mark.parametrize(("steps", "words"), _HOSTILE.values(), ids=_HOSTILE)
def test_hostile_steps_are_refused(steps: str, words: str) -> None:
    assert words in str(_refusal(_LOOPS + steps))


def test_loops_of_two_stages() -> None:
    other = '%d = sched.stage "r"\n %k, %l = sched.loops %d\n sched.reorder %i, %k'
    assert "loops of one stage, found those of sum and r" in str(_refusal(_LOOPS + other))


def test_a_refusal_names_loops_and_tensors_of_the_user() -> None:
    error = _refusal(_LOOPS + "sched.parallel %r")
    assert error.code == "illegal-schedule" and error.where == "s.mlir:4:3"
    assert "parallel(r): loop r of sum is summed over: all its iterations write sum[i, j]" in str(error)
    assert error.notes[0] == "sum[i, j] is computed from x[i, r] and y[r, j], for all r in 0..4"
    assert error.help == "rfactor r first, or run i (5) or j (9) in parallel"


def test_an_index_that_moves_other_than_by_a_stride() -> None:
    kernel = _KERNEL.replace("(m, n, k) -> (m, k)", "(m, n, k) -> (m mod 5, k)")
    error = _refusal(_LOOPS + "%a, %b = sched.split %i by [?, 2]", kernel)
    assert "split(i): loop i moves an index of x[i % 5, r] other than by a stride" in str(error)


def test_a_refused_script_changes_nothing() -> None:
    ctx = StepwellContext()
    other = '%d = sched.stage "r"\n %k, %l = sched.loops %d\n sched.unroll %k limit 1'
    module = parse_module(ctx, f'{_KERNEL}sched.script @s for "k" {{ {_LOOPS}sched.parallel %i\n {other} }}')
    before = str(module)
    with pytest.raises(StepwellError, match="illegal-schedule"):
        run_pipeline(module, "apply-schedule", ctx)
    assert str(module) == before


def test_scripts_of_a_file(tmp_path: Path) -> None:
    ctx, file = StepwellContext(), tmp_path / "s.mlir"
    first = f'sched.script @a for "k" {{ {_LOOPS} sched.unroll %r }}'
    file.write_text(f'{first}\nsched.script @b for "sum" {{ }}')
    module = parse_module(ctx, _KERNEL)
    run_pipeline(module, f'apply-schedule{{file="{file}" script="b"}}', ctx)
    assert not any(_schedules(module))
    run_pipeline(module, f'apply-schedule{{file="{file}"}}', ctx)
    assert [str(s) for s in _schedules(module) if s] == ["#sched.schedule<tile = [1, 1, 0]>"]
    for option, code in (("script=c", "bad-option"), ("part=some", "bad-option")):
        with pytest.raises(StepwellError) as refused:
            run_pipeline(module, f'apply-schedule{{file="{file}" {option}}}', ctx)
        assert refused.value.code == code
    with pytest.raises(StepwellError, match="no-file"):
        run_pipeline(module, f'apply-schedule{{file="{tmp_path / "none"}"}}', ctx)
