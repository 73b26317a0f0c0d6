"""`stepwell inspect`: the contents of a model or artifact, and the support of each operator."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.host import FALLBACK, NUMPY
from stepwell.runtime.link.code import Code, LinkedCode
from stepwell.tools.commands.options import add_load, add_model, load_plugins
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.model_interface import KINDS, named_types, tensor_spec
from stepwell.tools.driver.options import check_suffix
from stepwell.tools.driver.reading import read_module
from stepwell.tools.json_facts import tensor_facts
from stepwell.tools.onnx_support import MEANINGS, MISSING, operators_of
from stepwell.tools.report import readable_bytes


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: the model, and plugins."""
    add_model(parser)
    add_load(parser)


def run(args: Namespace) -> int:
    """Print the contents of the file; returns the exit status: 1 when an operator is not supported."""
    check_suffix(args.model)
    load_plugins(args)
    if args.model.suffix == ".stepwell":
        return _inspect_artifact(args)

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


def _inspect_artifact(args: Namespace) -> int:
    image = load_image(args.model)
    entry = image.main
    for kind, specs in zip(KINDS, (entry.interface.inputs, entry.interface.outputs), strict=True):
        _print_values(kind, {spec.name: spec for spec in specs})
        args.facts[f"{kind}s"] = tensor_facts(specs)
    args.facts["variants"] = [
        {"triple": v.triple, "features": list(v.features), "code bytes": _code_bytes(v.code)}
        for v in entry.variants
    ]
    for variant in entry.variants:
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
