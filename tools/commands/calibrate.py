"""`stepwell calibrate`: measure what this machine can do, or show what was measured."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Only `--show`."""
    parser.add_argument("--show", action="store_true", help="print what was measured before, measure nothing")


def run(args: Namespace) -> int:
    """Measure (a few seconds) and print; returns the exit status: 1 when there is nothing to show."""
    from stepwell.tools.calibrate import kept_limits, machine_limits

    limits = kept_limits() if args.show else machine_limits(measure=True)
    if limits is None:
        print("nothing was measured on this machine yet: run `stepwell calibrate`")
        return 1
    print("threads  f32 GFLOP/s  GB/s in memory  GB/s in the cache")
    for threads, gflops in limits.gflops.items():
        memory, cache = limits.memory_gbps[threads], limits.cache_gbps[threads]
        print(f"{threads:7}  {gflops:11.1f}  {memory:14.1f}  {cache:17.1f}")
    return 0
