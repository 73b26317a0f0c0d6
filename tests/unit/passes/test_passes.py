"""The pass infrastructure, clause by clause of its contract: context, order, instruments, failures."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import (
    FunctionPass,
    Instrument,
    Pass,
    PassContext,
    count,
    list_configs,
    parse_passes,
    register_config,
    remark,
    run_pass,
    run_pipeline,
)
from stepwell.passes import registry as registry_module
from stepwell.passes.instruments import VerifyEach, module_text
from stepwell.passes.registry import register_pass
from stepwell.passes.reproducer import Reproducer
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.plugins import DECORATED
from stepwell.tools.opt import main as stepwell_opt

TEXT = """
func.func @main(%x: i32) -> i32 {
  %c = arith.constant 0 : i32
  %y = arith.addi %x, %c : i32
  func.return %y : i32
}
"""

RAN: list[str] = []


@dataclass(frozen=True)
class LogPass(Pass):
    """Notes that it ran."""

    name = "test-log"
    tag: str = "log"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        RAN.append(self.tag)


@dataclass(frozen=True)
class EagerPass(Pass):
    """Runs from level 3 on, after two others."""

    name = "test-eager"
    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str, ...]] = ("test-log", "test-needy")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        RAN.append("eager")


@dataclass(frozen=True)
class NeedyPass(Pass):
    """Requires another pass."""

    name = "test-needy"
    opt_level: ClassVar[int] = 9
    required: ClassVar[tuple[str, ...]] = ("test-log",)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        RAN.append("needy")


@dataclass(frozen=True)
class CrashPass(Pass):
    """Breaks on the first constant."""

    name = "test-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, ConstantOp):
                self.crash(inner)

    def crash(self, op: ConstantOp) -> None:
        raise ZeroDivisionError("a bug")


@dataclass(frozen=True)
class BreakPass(Pass):
    """Leaves a function without its terminator."""

    name = "test-break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.walk():
            if isinstance(func, FuncOp) and (last := func.body.block.last_op) is not None:
                last.detach()


@pytest.fixture(autouse=True)
def plugged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    RAN.clear()
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    for pass_class in (LogPass, EagerPass, NeedyPass, CrashPass, BreakPass):
        register_pass(pass_class)
    DECORATED.discard(__file__)  # as if they were passes of ours
    yield


@pytest.fixture
def module() -> ModuleOp:
    return parse_module(StepwellContext(), TEXT, "test.mlir")


def test_a_disabled_pass_wins_over_a_required_one(module: ModuleOp) -> None:
    with PassContext(opt_level=3, required_pass=["test-log"], disabled_pass=["test-log"]):
        run_pipeline(module, "test-log")
    assert RAN == []


def test_passes_are_named_in_every_form(module: ModuleOp) -> None:
    """One text with commas is several names, wherever names are given."""
    for passes in ("test-log,test-log", ["test-log", LogPass()], ["test-log,test-log"]):
        run_pipeline(module, passes)
        assert RAN == ["log", "log"]
        RAN.clear()
    run_pass(module, "test-log{tag=x}")
    assert RAN == ["x"]
    assert PassContext(disabled_pass="test-log, cse").disabled_pass == {"test-log", "cse"}
    assert PassContext(required_pass="cse").required_pass == ("cse",)


def test_arguments_of_other_classes(module: ModuleOp) -> None:
    run_all: Any = run_pipeline
    run_one: Any = run_pass
    wrong: list[tuple[Callable[[], object], str, str]] = [
        (lambda: run_all("cse", module), "type-mismatch", "expected a module first, found str"),
        (lambda: run_all(module, None), "type-mismatch", "expected passes or their names, found None"),
        (lambda: run_one(module, LogPass), "type-mismatch", "expected passes or their names, found <class"),
        (lambda: run_one(None, LogPass()), "type-mismatch", "expected a module first, found NoneType"),
        (lambda: PassContext(opt_level=9), "bad-option", "opt_level must be from 0 to 3, found 9"),
    ]
    for call, code, message in wrong:
        with pytest.raises(StepwellError) as error:
            call()
        assert error.value.code == code and message in str(error.value)


def test_a_required_pass_wins_over_the_level(module: ModuleOp) -> None:
    with PassContext(opt_level=0, required_pass=["test-needy"]):
        run_pipeline(module, "test-needy,test-eager")
    assert RAN == ["log", "needy"]


@pytest.mark.parametrize(("level", "ran"), [(2, []), (3, ["log", "needy", "eager"])])
def test_level_decides_and_required_passes_run_first_unasked(
    module: ModuleOp, level: int, ran: list[str]
) -> None:
    with PassContext(opt_level=level):
        run_pipeline(module, "test-eager")
    assert RAN == ran


def test_a_pass_run_directly_is_not_asked(module: ModuleOp) -> None:
    with PassContext(opt_level=0, disabled_pass=["test-eager"]):
        run_pass(module, EagerPass())
    assert RAN[-1] == "eager"


def test_default_level_is_two(module: ModuleOp) -> None:
    assert PassContext.current().opt_level == 2
    run_pipeline(module, "test-eager")
    assert RAN == []


def test_contexts_nest(module: ModuleOp) -> None:
    with PassContext(opt_level=1) as outer:
        with PassContext(opt_level=3) as inner:
            assert PassContext.current() is inner
        assert PassContext.current() is outer


def test_config_sets_options_that_the_text_leaves_open(module: ModuleOp) -> None:
    with PassContext(config={"test-log.tag": "configured"}):
        run_pipeline(module, "test-log,test-log{tag=written}")
    assert RAN == ["configured", "written"]


def test_unknown_config_key_names_the_nearest() -> None:
    register_config("test.free", int, 3, "for tests")
    with pytest.raises(StepwellError, match="no config key is named 'test-log.tga'") as error:
        PassContext(config={"test-log.tga": "x"})
    assert "test-log.tag" in (error.value.help or "")
    assert "did you mean test-log.tag?" in (error.value.help or "")


def test_config_value_of_the_wrong_type() -> None:
    with pytest.raises(StepwellError, match=r"test-log.tag must be str, found 3"):
        PassContext(config={"test-log.tag": 3})


def test_configs_are_listed_with_types_and_defaults() -> None:
    assert str(list_configs()["test-log.tag"]) == "str = 'log'"


def test_context_travels_as_data() -> None:
    context = PassContext(opt_level=3, disabled_pass=["cse"], config={"test-log.tag": "far"})
    again = PassContext(**context.as_data())  # pyright: ignore[reportArgumentType]
    assert again.as_data() == context.as_data()


class Recorder(Instrument):
    def __init__(self, name: str, log: list[str], *, fails_in: str = "", allows: bool = True):
        self.name, self.log, self.fails_in, self.allows = name, log, fails_in, allows

    def _note(self, what: str) -> None:
        if what == self.fails_in:
            raise OSError(f"{self.name} {what}")
        self.log.append(f"{self.name} {what}")

    def enter_pass_ctx(self) -> None:
        self._note("enter")

    def exit_pass_ctx(self) -> None:
        self._note("exit")

    def should_run(self, module: ModuleOp, step: ModulePass) -> bool:
        self._note("should")
        return self.allows

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._note("before")

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._note("after")


def test_instruments_are_called_in_list_order(module: ModuleOp) -> None:
    log: list[str] = []
    with PassContext(instruments=[Recorder("a", log), Recorder("b", log)]):
        run_pipeline(module, "test-log")
    hooks = ("enter", "should", "before", "after", "exit")
    assert log == [f"{name} {hook}" for hook in hooks for name in "ab"]


def test_every_should_run_is_asked_and_one_no_is_enough(module: ModuleOp) -> None:
    log: list[str] = []
    with PassContext(instruments=[Recorder("a", log, allows=False), Recorder("b", log)]):
        run_pipeline(module, "test-log")
    assert log == ["a enter", "b enter", "a should", "b should", "a exit", "b exit"]
    assert RAN == []


def test_should_run_is_not_asked_for_a_required_pass(module: ModuleOp) -> None:
    log: list[str] = []
    with PassContext(required_pass=["test-log"], instruments=[Recorder("a", log, allows=False)]):
        run_pipeline(module, "test-log")
    assert log == ["a enter", "a before", "a after", "a exit"]


def test_an_instrument_that_fails_to_enter_undoes_those_before_it() -> None:
    log: list[str] = []
    context = PassContext(
        instruments=[Recorder("a", log), Recorder("b", log, fails_in="enter"), Recorder("c", log)]
    )
    with pytest.raises(OSError, match="b enter"), context:
        log.append("inside")
    assert log == ["a enter", "a exit"]
    assert context.instruments == []
    assert PassContext.current() is not context


def test_an_instrument_that_fails_to_exit_empties_the_list() -> None:
    log: list[str] = []
    context = PassContext(instruments=[Recorder("a", log, fails_in="exit"), Recorder("b", log)])
    with pytest.raises(OSError, match="a exit"), context:
        pass
    assert log == ["a enter", "b enter"]
    assert context.instruments == []


def test_function_pass_skips_declarations_and_marked_functions() -> None:
    class NamePass(FunctionPass):
        name = "test-name"

        def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
            RAN.append(func.sym_name.data)

    text = """
    func.func private @outside(i32)
    func.func @one() { func.return }
    func.func @two() attributes {skip_optimization} { func.return }
    func.func @three() { func.return }
    """
    run_pass(parse_module(StepwellContext(), text), NamePass())
    assert RAN == ["one", "three"]


def test_upstream_passes_run_by_name(module: ModuleOp) -> None:
    run_pipeline(module, "canonicalize,cse,dce")
    assert "arith.addi" not in str(module)


def test_unknown_pass_suggests_near_names() -> None:
    with pytest.raises(StepwellError, match="no pass is named 'canonicalise'") as error:
        parse_passes("canonicalise")
    assert "did you mean canonicalize" in (error.value.help or "")


def test_bad_option_lists_the_legal_ones() -> None:
    with pytest.raises(StepwellError) as error:
        parse_passes("test-log{tig=x}")
    assert error.value.code == "bad-option"
    assert error.value.help == "options of test-log: tag: str = log"


def test_malformed_pipeline_shows_the_place() -> None:
    with pytest.raises(StepwellError) as error:
        parse_passes("cse,,dce")
    assert error.value.code == "bad-pipeline"
    assert error.value.excerpt == ("cse,,dce", "    ^")


def test_internal_error_names_pass_op_and_place_and_can_be_reproduced(
    module: ModuleOp, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InternalError) as caught:
        run_pipeline(module, "test-log,test-crash,cse")
    text = caught.value.render()
    assert "error[internal]: ZeroDivisionError: a bug" in text
    assert "--> test.mlir:3:3" in text
    command = re.search(r"stepwell-opt (\S+\.mlir) -p '(.*)'", text)
    assert command is not None
    assert command[2] == "test-crash"
    assert stepwell_opt([command[1], "-p", command[2]]) == 1
    again = capsys.readouterr().err
    assert "ZeroDivisionError: a bug" in again
    assert "test.mlir:3:3" in again


def test_a_pipeline_goes_on_with_the_reproducer_of_an_earlier_one(module: ModuleOp) -> None:
    """What it writes is the IR before the failing pass, not that before the first pipeline."""

    class MarkPass(Pass):
        name = "test-mark"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            op.attributes["marked"] = UnitAttr()

    reproducer = Reproducer.of_copy(module)
    run_pipeline(module, [MarkPass()], reproducer=reproducer)
    before = module_text(module)
    with pytest.raises(InternalError) as caught:
        run_pipeline(module, "test-log,test-crash,cse", reproducer=reproducer)
    command = re.search(r"stepwell-opt (\S+\.mlir) -p '(.*)'", caught.value.render())
    assert command is not None and command[2] == "test-crash"
    again = parse_module(StepwellContext(), Path(command[1]).read_text())
    assert module_text(again) == before


def test_a_reproducer_makes_its_module_after_a_failure_alone(module: ModuleOp) -> None:
    made: list[ModuleOp] = []

    def begin() -> ModuleOp:
        made.append(module.clone())
        return made[-1]

    reproducer = Reproducer(begin)
    run_pipeline(module.clone(), "test-log", reproducer=reproducer)
    assert not made
    with pytest.raises(InternalError, match="reproduce it with"):
        run_pipeline(module.clone(), "test-crash", reproducer=reproducer)
    assert made


def test_user_error_of_a_pass_keeps_its_code_and_gets_the_pass(module: ModuleOp) -> None:
    class RefusePass(Pass):
        name = "test-refuse"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            raise StepwellError("unsupported", op, "cannot do that")

    with pytest.raises(StepwellError) as error:
        run_pipeline(module, [RefusePass()])
    assert error.value.code == "unsupported"
    assert error.value.notes == ("in pass test-refuse",)


def test_broken_ir_is_found_directly_after_the_pass(module: ModuleOp) -> None:
    with (
        pytest.raises(InternalError, match="test-break left broken IR"),
        PassContext(instruments=[VerifyEach()]),
    ):
        run_pipeline(module, "test-break,test-log")
    assert RAN == []


def test_remarks_and_counters_know_their_pass(module: ModuleOp) -> None:
    class TalkPass(Pass):
        name = "test-talk"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            remark(op.body.block.first_op, "not fused: %y has two uses")
            count("rewrites", 2)
            count("rewrites")

    with PassContext() as context:
        run_pipeline(module, [TalkPass()])
    assert str(context.remarks[0]) == (
        "remark: not fused: %y has two uses\n  --> test.mlir:2:1 (pass test-talk)"
    )
    assert context.counters["test-talk"]["rewrites"] == 3


def test_circular_requirements_are_refused(module: ModuleOp) -> None:
    class FirstPass(Pass):
        name = "test-first"
        required: ClassVar[tuple[str, ...]] = ("test-first",)

        def apply(self, ctx: Context, op: ModuleOp) -> None: ...

    register_pass(FirstPass)
    with pytest.raises(StepwellError, match="test-first -> test-first"):
        run_pipeline(module, "test-first")


def test_no_pass_of_ours_takes_a_name_of_upstream() -> None:
    from xdsl.transforms import get_all_passes

    assert not set(registry_module.PASSES) & set(get_all_passes())


def test_a_context_at_another_level_shares_what_it_hears() -> None:
    with PassContext(opt_level=1, disabled_pass=["cse"]) as context:
        with context.at_level(3).active():
            remark("here", "a word")
            assert PassContext.current().opt_level == 3
            assert PassContext.current().disabled_pass == {"cse"}
        with context.with_own_remarks().active():
            remark("there", "another")
    assert [r.message for r in context.remarks] == ["a word"] and context.opt_level == 1
