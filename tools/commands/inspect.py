"""`stepwell inspect`: the contents of a model or artifact, and the support of each operator."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from math import prod
from pathlib import Path

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.files.exported import load_exported
from stepwell.runtime.files.suffixes import LIBRARY_SUFFIX
from stepwell.runtime.files.whole_files import write_bytes
from stepwell.runtime.host import FALLBACK, NUMPY
from stepwell.runtime.link.code import Code, LinkedCode
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    compile_options,
    expect_full_start,
    load_plugins,
    watched,
)
from stepwell.tools.devices.run_npu import NPU_SUFFIX, inspect_npu
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.model_interface import KINDS, named_types, tensor_spec
from stepwell.tools.driver.options import check_suffix, source_suffixes
from stepwell.tools.driver.reading import read_module
from stepwell.tools.import_tree import import_tree, tree_text
from stepwell.tools.json_facts import tensor_facts
from stepwell.tools.onnx_support import MEANINGS, MISSING, operators_of
from stepwell.tools.report import readable_bytes


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: the model, tables of its compilation, and the options of that."""
    add_model(parser)
    add_compile_options(parser)
    parser.conflict_handler = "resolve"  # `--memory` of other commands is `--low-memory` here
    about = "what a compilation makes of the model, in place of what is in its file"
    tables = parser.add_argument_group("tables", about)
    tables.add_argument(
        "--kernels", action="store_true", help="show calls, rule, schedule, code and spills of each kernel"
    )
    tables.add_argument(
        "--memory", action="store_true", help="show the arena's buffers over time, with a diagram"
    )
    tables.add_argument(
        "--passes",
        action="store_true",
        help="show each pass: time, ops before and after, rewrites; uses no cache",
    )
    tables.add_argument(
        "--strategies",
        action="store_true",
        help="show the ways to compute each convolution, attention, …: cycles, choice, why not the others",
    )
    tables.add_argument(
        "--size",
        action="append",
        default=[],
        type=_size,
        metavar="N=8",
        help="the value of an open size in the table of memory (default: 1; repeatable)",
    )
    tables.add_argument(
        "--formulas", action="store_true", help="show sizes of memory with open dimensions as formulas"
    )
    parser.add_argument(
        "--debug-file",
        type=Path,
        metavar="F",
        help="write the DWARF lines of an artifact that was compiled with --debug-info, for debuggers",
    )
    parser.add_argument("--vm", action="store_true", help="show the instructions of a program with functions")
    parser.add_argument(
        "--tree",
        action="store_true",
        help="show the functions of an artifact or library as a tree, with their code and outside calls",
    )
    tables.add_argument("--low-memory", action="store_true", help="as `stepwell compile --memory low`")


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.rpartition("=")
    if not name or not value.isdecimal():
        raise ArgumentTypeError(f"expected NAME=NUMBER, found {text!r}")
    return name, int(value)


def run(args: Namespace) -> int:
    """Print the contents of the file; returns the exit status: 1 when an operator is not supported."""
    if args.model.suffix == NPU_SUFFIX:
        return inspect_npu(args)
    check_suffix(args.model, source_suffixes(".stepwell", LIBRARY_SUFFIX))
    if args.kernels or args.memory or args.passes or args.strategies:
        return _inspect_compilation(args)
    load_plugins(args)
    if args.model.suffix in (".stepwell", LIBRARY_SUFFIX):
        return _inspect_artifact(args)
    if args.tree:
        message = "--tree is for what a model was compiled to: an artifact, or an exported library"
        help = "stepwell compile MODEL -o M.stepwell"
        raise StepwellError("bad-option", str(args.model), message, help=help)

    ctx = StepwellContext()
    module = read_module(args.model, ctx)
    for kind in KINDS:
        types = {name: _type_text(name, type) for name, type in named_types(main_of(module), kind)}
        args.facts[f"{kind}s"] = [{"name": name, "type": type} for name, type in types.items()]
        _print_values(kind, types)
    elements = sum(ctx.weights.get(key).size for key in ctx.weights)
    size = sum(ctx.weights.get(key).nbytes for key in ctx.weights)
    print(f"parameters: {elements:,} in {len(ctx.weights)} tensors, {readable_bytes(size)}")
    args.facts["weights"] = {"elements": elements, "tensors": len(ctx.weights), "bytes": size}
    around = (ModuleOp, func.FuncOp, func.ReturnOp)
    lower = [(op.name, "") for op in module.walk() if not isinstance(op, (*around, onnx.OnnxOp))]
    kinds = Counter([*operators_of(module)] or lower)
    args.facts["operators"] = [
        {"name": name, "support": how or None, "count": count} for (name, how), count in kinds.most_common()
    ]
    print("operators:")
    for (name, how), count in kinds.most_common():
        print(f"  {count:>6}  {name:<28} {how}".rstrip())
    for how, meaning in MEANINGS.items():
        if any(how == found for _, found in kinds):
            print(f"{how}: {meaning}")
    return 1 if any(how == MISSING for _, how in kinds) else 0


def _inspect_compilation(args: Namespace) -> int:
    """Print the tables of a compilation; returns the exit status."""
    from stepwell.tools.api import tables

    shows_memory, args.memory = args.memory, "low" if args.low_memory else "normal"
    expect_full_start(args, {"a table of `stepwell inspect`": True})
    check_suffix(args.model, source_suffixes())
    args.facts["schema"] = "stepwell-inspect/1"
    texts: list[str] = []
    if args.strategies:
        from stepwell.tools.api.strategies import strategies_of, strategies_text

        rows = strategies_of(args.model, compile_options(args))
        args.facts["strategies"] = [asdict(row) for row in rows]
        texts.append(strategies_text(rows))
        if not (args.kernels or shows_memory or args.passes):
            print(texts[0])
            return 0
    with watched(args):
        found = tables.inspected(args.model, compile_options(args), passes=args.passes)
    if args.kernels:
        kernels = found.kernels()
        args.facts["kernels"] = [asdict(row) for row in kernels]
        texts.append(tables.kernels_text(kernels))
    if shows_memory:
        memory = found.memory(dict(args.size))
        args.facts["memory"] = asdict(memory)
        texts.append(tables.memory_text(memory, formulas=args.formulas))
    if args.passes:
        args.facts["passes"] = [asdict(row) for row in found.passes]
        texts.append(tables.passes_text(found.passes))
    print("\n\n".join(texts))
    return 0


def _inspect_artifact(args: Namespace) -> int:
    image = load_exported(args.model) if args.model.suffix == LIBRARY_SUFFIX else load_image(args.model)
    if args.tree or image.is_library:
        root = import_tree(image, args.model.name)
        args.facts["tree"] = root.facts()
        print(tree_text(root))
        return 0
    if image.program:
        from stepwell.tools.commands.inspect_program import inspect_program

        return inspect_program(image, args)
    if args.vm:
        message = "--vm prints the instructions of a program with functions, and the artifact has none"
        raise StepwellError("bad-option", str(args.model), message)
    entry = image.main
    if args.debug_file is not None:
        write_bytes(args.debug_file, _debug_file(entry.variants[0].code, args.model))
    public = entry.interface.public
    states = [entry.interface.inputs[each.input]._replace(name=each.name) for each in entry.interface.states]
    kinds = (*KINDS, "state") if states else KINDS
    for kind, specs in zip(kinds, (public.inputs, public.outputs, states), strict=False):
        _print_values(kind, {spec.name: spec for spec in specs})
        args.facts[f"{kind}s"] = tensor_facts(specs)
    variants = [variant for each in image.targets for variant in each.variants]
    args.facts["variants"] = [
        {"triple": v.triple, "features": list(v.features), "code bytes": _code_bytes(v.code)}
        for v in variants
    ]
    for variant in variants:
        print(f"target: {variant.triple}, features: {', '.join(variant.features) or 'none'}")
        print(f"code: {_code_text(variant.code)}")
    elements = sum(prod(w.shape) for w in image.weights)
    size = sum(w.nbytes for w in image.weights)
    args.facts["weights"] = {"elements": elements, "tensors": len(image.weights), "bytes": size}
    args.facts |= image.summary
    args.facts["on the host"] = [
        {"function": callee.name, "node": callee.where} for callee in entry.callees if callee.kind == NUMPY
    ]
    print(f"weights: {elements:,} numbers in {len(image.weights)} tensors")
    for callee in entry.callees:
        if callee.kind == NUMPY:
            print(f"on the host: {callee.name.removeprefix('host.')} at {callee.where}")
        else:
            kind = "its backend, else our kernels" if callee.kind == FALLBACK else callee.kind
            print(f"partition {callee.name}: {readable_bytes(len(callee.code))} for {kind}")
    for name, value in image.summary.items():
        print(f"{name}: {value}")
    return 0


def _debug_file(code: Code, model: Path) -> bytes:
    if isinstance(code, LinkedCode) and code.debug:
        return code.debug
    message = "the artifact has no debug file"
    raise StepwellError("bad-option", str(model), message, help="compile it with --debug-info, for Linux")


def _code_text(code: Code) -> str:
    if isinstance(code, LinkedCode):
        calls = f", calls {', '.join(code.outside)}" if code.outside else ""
        return f"{readable_bytes(_code_bytes(code))} in {len(code.functions)} functions{calls}"
    return f"{readable_bytes(_code_bytes(code))} in {len(code.objects)} objects"


def _code_bytes(code: Code) -> int:
    return len(code.contents) if isinstance(code, LinkedCode) else sum(map(len, code.objects))


def _type_text(name: str, type: Attribute) -> str:
    """A tensor type in short form, such as `f32[1, 3]`; an unsupported type in the IR's syntax."""
    try:
        return str(tensor_spec(name, type, ""))
    except StepwellError:
        return str(type)


def _print_values(kind: str, types: Mapping[str, object]) -> None:
    print(f"{kind}s:")
    for name, type in types.items():
        print(f"  {name}: {type}")
