"""`stepwell train`: train the weights of an ONNX model on arrays, and write it with the new ones."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from stepwell.runtime.files.whole_files import check_place
from stepwell.tools.commands.options import (
    add_compile_options,
    add_threads,
    compile_options,
    expect_full_start,
    load_plugins,
    positive,
)
from stepwell.tools.driver.options import check_suffix, expect_source
from stepwell.tools.inputs import read_arrays
from stepwell.tools.progress import shown_progress

LOSSES = ("cross_entropy", "mse", "mae", "binary_cross_entropy", "huber")
OPTIMIZERS = ("sgd", "momentum", "nesterov", "adam", "adamw")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, data, loss, optimizer, epochs and output."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="an .onnx file")
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="D.npz",
        help="an array for each input by its name, and `labels`, `targets` or one with the output's name; "
        "samples are the first axis",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="F.onnx", help="the file to write"
    )
    parser.add_argument("--loss", choices=LOSSES, required=True, help="the loss, a mean over the batch")
    parser.add_argument("--of", default="", metavar="OUTPUT", help="the output that the loss is of")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adam", help="default: adam")
    parser.add_argument("--lr", type=float, default=1e-3, metavar="X", help="learning rate (default: 0.001)")
    parser.add_argument(
        "--schedule",
        choices=("constant", "cosine", "step"),
        default="constant",
        help="learning rate over the steps: cosine falls to 0, step by a factor at times",
    )
    parser.add_argument(
        "--warmup", type=int, default=0, metavar="N", help="steps in which the rate grows (default: 0)"
    )
    parser.add_argument(
        "--step-size", type=positive, default=10, metavar="N", help="epochs of a rate of step (default: 10)"
    )
    parser.add_argument(
        "--gamma", type=float, default=0.1, metavar="X", help="factor of the rate of step (default: 0.1)"
    )
    parser.add_argument("--momentum", type=float, default=0.9, metavar="X", help="default: 0.9")
    parser.add_argument("--weight-decay", type=float, metavar="X", help="default: 0; of adamw 0.01")
    parser.add_argument(
        "--clip", type=float, default=0.0, metavar="X", help="the largest norm of all gradients together"
    )
    parser.add_argument("--epochs", type=positive, default=1, metavar="N", help="default: 1")
    parser.add_argument("--batch", type=positive, default=64, metavar="N", help="default: 64")
    parser.add_argument(
        "--train",
        action="append",
        metavar="GLOB",
        help="names or patterns of the initializers to train (given again: more; default: all parameters)",
    )
    parser.add_argument(
        "--training-mode",
        choices=("marked", "all", "none"),
        default="marked",
        help="dropout and batch normalization that train: `marked` by the file (default), all, or none",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the order of samples, and of dropout (default: 0)",
    )
    add_threads(parser)
    add_compile_options(parser)


def run(args: Namespace) -> int:
    """Train, print a line an epoch, and write the model; returns the exit status."""
    expect_full_start(args, {"train": True})
    expect_source(args.model)
    check_suffix(args.model, (".onnx",))
    check_place(args.output)
    load_plugins(args)
    from stepwell.tools.training.fit import epochs, samples_of
    from stepwell.tools.training.schedules import schedule_of
    from stepwell.tools.training.trainer import Trainer

    arrays = read_arrays(args.data)
    trainer = Trainer(
        args.model,
        loss=args.loss,
        optimizer=args.optimizer,
        lr=args.lr,
        train=args.train or ("*",),
        output=args.of,
        momentum=args.momentum,
        weight_decay=args.weight_decay,
        clip=args.clip,
        training_mode={"marked": None, "all": True, "none": False}[args.training_mode],
        seed=args.seed,
        threads=args.threads,
        options=compile_options(args),
    )
    outputs = [args.of] if args.of else trainer.output_names
    inputs, targets = samples_of(arrays, trainer.inputs, outputs, str(args.data))
    steps = -(-len(targets) // args.batch)
    schedule = schedule_of(
        args.schedule,
        args.lr,
        steps=steps * args.epochs,
        warmup=args.warmup,
        every=steps * args.step_size,
        gamma=args.gamma,
    )
    found: list[dict[str, object]] = []
    with shown_progress() as progress:
        how = {"count": args.epochs, "batch": args.batch, "seed": args.seed}
        for epoch in epochs(trainer, inputs, targets, **how, schedule=schedule, progress=progress):
            found.append(epoch._asdict())
            rate = epoch.samples / max(epoch.seconds, 1e-9)
            print(f"epoch {len(found)}: loss {epoch.loss:.4g}, {rate:.0f} samples/s")
    trainer.to_onnx(args.output)
    sizes = sum(value.size for value in trainer.parameters.values())
    args.facts |= {
        "schema": "stepwell-train/1",
        "epochs": found,
        "parameters": sizes,
        "file": str(args.output),
    }
    print(f"wrote {args.output}: {sizes} parameters in {len(trainer.parameters)} tensors")
    return 0
