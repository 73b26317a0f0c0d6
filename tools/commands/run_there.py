"""`stepwell run --on`: the model of the arguments in a session on a server."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager

from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc import Connection, RemoteModel, connect
from stepwell.tools.commands.options import ready_model
from stepwell.tools.inputs import completed_inputs, read_arrays
from stepwell.tools.shown_outputs import show_outputs, write_outputs


@contextmanager
def model_there(args: Namespace) -> Generator[tuple[Connection, RemoteModel]]:
    """A session, and the model of the arguments in it, compiled for the machine there."""
    with connect(args.on) as session:
        model = args.model if args.model.suffix == ".stepwell" else _compiled(args, session)
        yield session, session.load(model, threads=args.threads, name=args.model.stem)


def _compiled(args: Namespace, session: Connection) -> CompiledModel:
    """The model of the arguments, for the session's target unless they name another one."""
    if args.mcpu == "host" and args.target is None:
        args = Namespace(**{**vars(args), "target": str(session.target())})
    return ready_model(args, here=False)


def run_there(args: Namespace) -> int:
    """Run the model there, and show its times; returns the exit status."""
    with model_there(args) as (session, model):
        arrays = read_arrays(args.inputs) if args.inputs is not None else {}
        feeds = completed_inputs(model.interface, arrays, args.seed, dict(args.input_shape), args.fill)
        outputs = model.run(feeds)
        show_outputs(args, outputs)
        if args.repeat > 1:
            times = session.time(model, [feeds], number=1, repeat=args.repeat)
            args.facts |= {"seconds": list(times.seconds), "threads": model.threads}
            low, median, high = (1e3 * t for t in (min(times.seconds), times.median, max(times.seconds)))
            shown = f"{low:.3f} / {median:.3f} / {high:.3f} ms (min / median / max)"
            print(f"{len(times.seconds)} runs on {args.on}, {model.threads} threads: {shown}")
        if args.outputs is not None:
            write_outputs(args.outputs, outputs)
    return 0
