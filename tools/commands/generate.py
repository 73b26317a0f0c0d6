"""`stepwell generate`: tokens of a decoder after those of a prompt."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed
from stepwell.runtime.sessions.generation import Generated, generate
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    add_threads,
    expect_full_start,
    positive,
    ready_model,
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, prompt, sampling and options."""
    add_model(parser)
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--ids", type=ids, metavar="1,2,3", help="the tokens of the prompt")
    prompt.add_argument("--prompt", metavar="TEXT", help="the prompt; needs --tokenizer")
    parser.add_argument(
        "--tokenizer", type=Path, metavar="F.json", help="a tokenizer.json of the package `tokenizers`"
    )
    parser.add_argument(
        "--max-new-tokens", type=positive, default=128, metavar="N", help="at most so many (default: 128)"
    )
    add_sampling(parser)
    parser.add_argument("--eos", type=ids, default=[], metavar="2", help="tokens that end the text")
    parser.add_argument(
        "--stop", type=ids, action="append", default=[], metavar="7,8", help="a sequence that ends the text"
    )
    add_threads(parser)
    add_compile_options(parser)


def add_sampling(parser: ArgumentParser) -> None:
    """Add the options by which a token is chosen."""
    parser.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="0: the most probable token (default)"
    )
    parser.add_argument(
        "--top-k", type=partial(positive, least=0), default=0, metavar="K", help="of the K greatest logits"
    )
    parser.add_argument(
        "--top-p", type=float, default=1.0, metavar="P", help="of the most probable tokens with this share"
    )
    parser.add_argument(
        "--min-p", type=float, default=0.0, metavar="P", help="of tokens with this share of the greatest"
    )
    parser.add_argument(
        "--repetition-penalty", type=float, default=1.0, metavar="X", help="lower logits of tokens so far"
    )
    parser.add_argument(
        "--seed",
        type=partial(positive, least=0),
        default=0,
        metavar="N",
        help="seed of the draws (default: 0)",
    )


def ids(text: str) -> list[int]:
    """Numbers of tokens with commas between them. Raises: ArgumentTypeError."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"expected tokens such as 1,2,3, found {text!r}") from None


def run(args: Namespace) -> int:
    """Generate and print; returns the exit status."""
    expect_full_start(args, {"generate": True})
    tokenizer = _tokenizer(args)
    prompt = args.ids if tokenizer is None else list(tokenizer.encode(args.prompt).ids)
    sizes = {} if args.capacity is None else {"capacity": args.capacity}
    args.capacity = None  # of the session: an artifact has room for any
    if args.model.suffix != ".stepwell":
        args.state = args.state or ["auto"]
    session = ready_model(args).session(**sizes)
    found = generate(
        session,
        prompt,
        max_new_tokens=args.max_new_tokens,
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        min_p=args.min_p,
        repetition_penalty=args.repetition_penalty,
        eos=args.eos,
        stop=args.stop,
        seed=args.seed,
    )
    text = None if tokenizer is None else tokenizer.decode(found.ids)
    _print(args, prompt, found, text)
    return 0


def _tokenizer(args: Namespace) -> Any:
    """The tokenizer for a prompt of text; None for one of ids. Raises: StepwellError."""
    if args.prompt is None:
        return None
    if args.tokenizer is None:
        message = "a prompt of text needs a tokenizer"
        raise StepwellError("bad-usage", None, message, help="--tokenizer F.json, or --ids 1,2,3")
    with needed("--tokenizer"):
        package: Any = import_module("tokenizers")
    try:
        return package.Tokenizer.from_file(str(args.tokenizer))
    except Exception as error:  # the package raises no type of its own
        raise StepwellError("bad-inputs", str(args.tokenizer), f"no tokenizer: {error}") from None


def _print(args: Namespace, prompt: list[int], found: Generated, text: str | None) -> None:
    step = median(found.step_seconds) if found.step_seconds else None
    args.facts |= {
        "schema": "stepwell-generate/1",
        "prompt": prompt,
        "ids": found.ids,
        "text": text,
        "finish": found.finish,
        "prefill_seconds": found.prefill_seconds,
        "step_seconds": found.step_seconds,
    }
    print(text if text is not None else ",".join(map(str, found.ids)))
    speed = "" if not step else f", {step * 1e3:.3g} ms a token after it ({1 / step:.0f} tokens/s)"
    print(
        f"# {len(found.ids)} tokens, ended by {found.finish}; {len(prompt)} of the prompt took "
        f"{found.prefill_seconds * 1e3:.3g} ms{speed}"
    )
