"""
The IR in docstrings holds: it parses and verifies, and a rule turns its first half into its second.

An example with `…` in it is a sketch and is only read by people. A line `// ->` parts the halves
(`// -> %x`: nothing is left but a value). Values that an example uses and does not define are taken as given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc, signature
from pathlib import Path
from typing import get_type_hints

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Operation, Region
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker, RewritePattern
from xdsl.transforms.dead_code_elimination import dce

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched_kernel import KernelAttr, set_kernel
from stepwell.dialects.sched_program import PROGRAM, ProgramAttr
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.passes.base import functions_of
from stepwell.passes.instruments import module_text
from stepwell.patterns import Rule, rewrite
from stepwell.patterns.driver.carry_out import RewriteListener, listening
from stepwell.runtime.machine.target import target_from
from tests.support.fragments import (
    ONE_VALUE,
    check_fragment,
    free_values,
    halves_of,
    is_sketch,
    parse_fragment,
)

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("dialects", "patterns", "passes", "lowering")

_PAGES = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("dialects.md", "passes.md"))
"""Generated pages, whose blocks test_docs.py parses and verifies, each of them."""
_BLOCK = re.compile(r"```mlir\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """An example in a docstring: where it stands, and its halves."""

    file: str
    owner: str
    halves: list[str]
    is_on_a_page: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.owner}"


def documented(source: str) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """The definitions with examples, and those around them: to parse all others takes a worker a second."""
    for text in re.split(r"^(?=@|class |def )", source, flags=re.MULTILINE) if "```mlir" in source else ():
        if "```mlir" in text:
            nodes = ast.walk(ast.parse(text))
            yield from (node for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef)))


def examples() -> Iterator[Example]:
    """The examples of all docstrings, sketches left out."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in documented(file.read_text(encoding="utf-8")):
                if text := ast.get_docstring(node):
                    for block in _BLOCK.findall(cleandoc(text)):
                        if not is_sketch(block):
                            file_name, is_on_a_page = str(file.relative_to(ROOT)), block.strip() in _PAGES
                            yield Example(file_name, node.name, halves_of(block), is_on_a_page)


EXAMPLES = list(examples())


def rule_of(example: Example) -> Callable[..., RewritePattern | Rule] | None:
    """What makes the rule that an example belongs to; None for other owners, and for rules of conversions."""
    if not example.file.startswith(("passes/", "lowering/linalg_to_")):
        return None  # other conversions change types: their rules work together only, in FileCheck files
    module = import_module(f"stepwell.{example.file.removesuffix('.py').replace('/', '.')}")
    owner = getattr(module, example.owner, None)
    if isinstance(owner, type):
        return owner if issubclass(owner, RewritePattern) else None
    return owner if owner is not None and get_type_hints(owner).get("return") is Rule else None


OF_MAIN = [example for example in EXAMPLES if example.file.startswith("lowering/main_to_buffers/")]
COMPLETE = [example for example in EXAMPLES if not example.is_on_a_page and example not in OF_MAIN]


@pytest.mark.sample(3)
@pytest.mark.parametrize("example", COMPLETE, ids=map(str, COMPLETE))
def test_example_parses_and_verifies(example: Example) -> None:
    for half in example.halves:
        check_fragment(half, str(example))


# The patterns that share a 1:N conversion, or are handed an analysis, are applied by their pass.
PASSES = {
    "vectors": "unroll-vectors{mcpu=x86-64-v3}",
    "tiles": "vectorize",
    "products": "convert-linalg-to-amx{mcpu=sapphirerapids}",
    "lanes": "scalarize-vectors",
}
RULES = [example for example in EXAMPLES if len(example.halves) == 2 and rule_of(example) is not None]


@pytest.mark.parametrize("example", RULES, ids=map(str, RULES))
def test_rule_turns_its_first_half_into_its_second(example: Example) -> None:
    ctx = StepwellContext()
    make_rule = rule_of(example)
    assert make_rule is not None
    # Rules that look at constants are made with the weights, those that look at caches with a target.
    known = {"weights": ctx.weights, "target": target_from("x86-64-v3")}
    given = {name: known[name] for name in signature(make_rule).parameters if name in known}
    before, after = halves_as_modules(ctx, example)
    if pipeline := next(filter(None, map(PASSES.get, signature(make_rule).parameters)), None):
        applied = Applied()
        with listening(applied):
            run_on_body(before, lambda module: run_pipeline(module, pipeline, ctx))
        assert example.owner in applied.patterns
        constants_first(after)
    else:
        apply(make_rule(**given), before)
    dce(before)
    dce(after)
    observed = [op for op in after.body.block.ops if op.operands or not isinstance(op, TestOp)]
    assert observed, f"{example}: the halves define no value of the same name and have no effects"
    assert before.is_structurally_equivalent(after), (
        f"the rule gives\n{module_text(before)}\nbut its example says\n{module_text(after)}"
    )


@pytest.mark.parametrize("example", OF_MAIN, ids=map(str, OF_MAIN))
def test_main_on_tensors_becomes_main_on_buffers(example: Example) -> None:
    """
    Plan a `@main` with the first half as its body, and compare it with the second.

    A value that the first half defines, and the second half does not, is an output; `%arena` is the arena,
    and an index is a symbol.
    """
    ctx = StepwellContext()
    first, second = example.halves
    given = sorted(free_values(ctx, first).items(), key=lambda item: isinstance(item[1], IndexType))
    names = [name for name, type in given if isinstance(type, IndexType)]
    later = free_values(ctx, second)
    results = {name: type for name, type in results_of(ctx, first).items() if name in later}
    module = main_of(ctx, first, dict(given), results)
    main = module.body.block.last_op
    assert isinstance(main, FuncOp)
    main.attributes[PROGRAM] = ProgramAttr.of_symbols(names)
    module.body.block.insert_ops_before(kernels_called_by(main), main)
    verify_module(module)
    run_pipeline(module, "plan-memory", ctx)
    verify_module(module)
    main = module.body.block.last_op
    assert isinstance(main, FuncOp)
    arguments = [*(name for name, _ in given if name not in names), *results, "arena", *names]
    wanted = main_of(ctx, second, dict(zip(arguments, main.body.block.arg_types, strict=True)), {})
    dce(module)
    dce(wanted)
    last = wanted.body.block.last_op
    assert isinstance(last, FuncOp)
    assert main.body.is_structurally_equivalent(last.body), (
        f"plan-memory gives\n{module_text(module)}\nbut the example says\n{module_text(wanted)}"
    )


def main_of(
    ctx: StepwellContext, body: str, arguments: Mapping[str, Attribute], results: Mapping[str, Attribute]
) -> ModuleOp:
    """A module with a function `@main` of some arguments and ops that returns values of the ops."""
    taken = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    types = ", ".join(map(str, results.values()))
    values = ", ".join(f"%{name}" for name in results)
    end = f"func.return {values} : {types}" if results else "func.return"
    return parse_module(ctx, f"func.func @main({taken}) -> ({types}) {{\n{body}\n{end}\n}}", "main")


def kernels_called_by(main: FuncOp) -> list[FuncOp]:
    """Declarations of the kernels that a function calls, with a symbol for each index that they take."""
    kernels: dict[str, FuncOp] = {}
    for call in main.walk():
        if isinstance(call, CallOp):
            name = call.callee.string_value()
            kernel = FuncOp.external(name, list(call.operand_types), list(call.result_types))
            symbols = [f"s{i}" for i, type in enumerate(call.operand_types) if isinstance(type, IndexType)]
            inputs = len(call.operand_types) - len(symbols)
            set_kernel(kernel, KernelAttr(inputs, len(call.result_types), symbols))
            kernels[name] = kernel
    return list(kernels.values())


class Applied(RewriteListener):
    """Collects the names of the patterns that are applied."""

    def __init__(self) -> None:
        self.patterns = set[str]()

    def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
        self.patterns.add(pattern)


def apply(rule: RewritePattern | Rule, module: ModuleOp) -> None:
    """Apply one rule, a rewrite pattern or one of the pattern language, until it matches no more."""
    if isinstance(rule, RewritePattern):
        PatternRewriteWalker(GreedyRewritePatternApplier([rule])).rewrite_module(module)
        return
    run_on_body(module, lambda outer: rewrite([rule], functions_of(outer)[0]))


def run_on_body(module: ModuleOp, work: Callable[[ModuleOp], object]) -> None:
    """Work on a module with a function of the same ops."""
    function = FuncOp("fragment", ([], []), Region(module.body.detach_block(0)))
    work(ModuleOp([function]))
    module.body.add_block(function.body.detach_block(0))


def constants_first(module: ModuleOp) -> None:
    """Move constants to the start, the last one first, as those of a function are inserted."""
    block = module.body.block
    for op in [op for op in block.ops if isinstance(op, arith.ConstantOp)]:
        op.detach()
        first = block.first_op
        assert first is not None
        block.insert_op_before(op, first)


def halves_as_modules(ctx: StepwellContext, example: Example) -> tuple[ModuleOp, ModuleOp]:
    """
    Both halves as modules with the same given values, that keep the same results.

    Kept is what both halves define, which is nothing for ops on buffers; where the second half is one value
    only, the last that the first defines.
    """
    first, second = example.halves
    defined = results_of(ctx, first)
    given = free_values(ctx, first)
    if one := ONE_VALUE.fullmatch(second):
        name, type = list(defined.items())[-1]
        return (
            parse_fragment(ctx, first, given=given, keep=[(name, type)]),
            parse_fragment(ctx, "", given=given, keep=[(one[1], type)]),
        )
    also_defined = results_of(ctx, second)
    given |= {name: type for name, type in free_values(ctx, second).items() if name not in defined}
    keep = [(name, type) for name, type in defined.items() if name in also_defined]
    return (
        parse_fragment(ctx, first, given=given, keep=keep),
        parse_fragment(ctx, second, given=given, keep=keep),
    )


def results_of(ctx: StepwellContext, text: str) -> dict[str, Attribute]:
    """What the ops of a fragment define, by name, in order."""
    module = parse_fragment(ctx, text)
    given = free_values(ctx, text)
    named = {r.name_hint: r.type for op in module.body.block.ops for r in op.results if r.name_hint}
    return {name: type for name, type in named.items() if name not in given}
