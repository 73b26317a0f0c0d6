"""`stepwell calibrate`: measure what this machine can do, or show what was measured."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.runtime.machine.target import TargetDescription, TileShares
    from stepwell.tools.measure.calibrate import MachineLimits

_TILE_SECONDS = 6  # the limits take about three more
_SHOWN = 8  # tiles of a class


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: whether to measure, and for which target."""
    parser.add_argument("--show", action="store_true", help="print what was measured before, measure nothing")
    parser.add_argument(
        "--mcpu",
        default="host",
        metavar="CPU",
        help="whose register tiles to order: host, x86-64-v3, … (default: host)",
    )
    parser.add_argument(
        "--device", metavar="NAME", help="measure a device instead: cuda, webgpu:1 (`stepwell devices`)"
    )
    parser.add_argument("--on", metavar="URL", help="rpc://HOST:PORT: order the tiles of the machine there")


def run(args: Namespace) -> int:
    """Measure (under 10 s where nothing else runs) and print; returns 1 when there is nothing to show."""
    from stepwell.runtime.machine.demands import check_features
    from stepwell.runtime.machine.target import target_from
    from stepwell.runtime.machine.tile_shares import with_kept_shares
    from stepwell.tools.measure.calibrate import kept_limits, machine_limits

    if args.device is not None:
        return _calibrate_device(args)
    if args.on is not None:
        return _calibrate_there(args)
    target = target_from(args.mcpu)
    if args.show:
        limits, shares = kept_limits(), with_kept_shares(target).tile_shares
    else:
        check_features(target.triple, target.features)
        shares = _measured_tiles(target, perf_counter() + _TILE_SECONDS)
        limits = machine_limits(measure=True)
    if limits is None and not shares:
        print("nothing was measured on this machine yet: run `stepwell calibrate`")
        return 1
    args.facts |= {"limits": limits and asdict(limits), "tiles": _tile_facts(shares)}
    if limits is not None:
        _print_limits(limits)
    _print_tiles(shares)
    _print_tile_registers()
    return 0


def _calibrate_device(args: Namespace) -> int:
    """Measure a device, or show what was measured of it; returns 1 when there is nothing to show."""
    from stepwell.tools.measure.device_limits import kept_limits, measured_limits

    if args.on is not None or args.mcpu != "host":
        raise StepwellError(
            "bad-option", None, "`--device` measures a device of this machine: no --on, no --mcpu"
        )
    limits = kept_limits(args.device) if args.show else measured_limits(args.device)
    if limits is None:
        print(f"{args.device} was not measured yet: run `stepwell calibrate --device {args.device}`")
        return 1
    args.facts |= {"device": args.device, "limits": asdict(limits)}
    print(f"{args.device}: {limits.about}")
    print(f"{limits.copy_gbps:.1f} GB/s read and written, {limits.gflops:.1f} GFLOP/s in products of f32")
    return 0


def _measured_tiles(target: TargetDescription, deadline: float) -> TileShares:
    from stepwell.tools.measure.tile_order import measure_tiles

    return _kept(target, measure_tiles(target, deadline))


def _kept(target: TargetDescription, shares: TileShares) -> TileShares:
    from stepwell.runtime.machine.tile_shares import keep_shares

    try:
        keep_shares(target, shares)
    except OSError as error:
        raise StepwellError("cannot-write", None, f"the measurements cannot be saved: {error}") from None
    return shares


def _calibrate_there(args: Namespace) -> int:
    """Measure tiles on another machine, for its own target; the shares are kept on this one."""
    from stepwell.runtime.rpc import connect
    from stepwell.tools.measure.tile_order import class_shares, tile_codes

    if args.show or args.mcpu != "host":
        raise StepwellError("bad-option", None, "`--on` measures for the machine there: no --show, no --mcpu")
    with connect(args.on) as session:
        target = session.target()
        found = [
            shares
            for code in tile_codes(target.cpu())
            for shares in class_shares(code, session.tile_rates(code.objects, code.names, _TILE_SECONDS))
        ]
    args.facts |= {"target": target.to_json(), "tiles": _tile_facts(_kept(target.cpu(), tuple(found)))}
    print(f"for {target}")
    _print_tiles(tuple(found))
    return 0


def _tile_facts(shares: TileShares) -> dict[str, object]:
    """The shares of the fastest tile's speed, by class of tiles."""
    return {name: [{"rows": m, "vectors": v, "share": s} for m, v, s in rows] for name, rows in shares}


def _print_limits(limits: MachineLimits) -> None:
    print("threads  f32 GFLOP/s  GB/s in memory  GB/s in the cache")
    for threads, gflops in limits.gflops.items():
        memory, cache = limits.memory_gbps[threads], limits.cache_gbps[threads]
        print(f"{threads:7}  {gflops:11.1f}  {memory:14.1f}  {cache:17.1f}")


def _print_tile_registers() -> None:
    """Print whether the machine's tile registers are used, or nothing on a machine without any."""
    from stepwell.runtime.machine.cpu_features import cpu_features
    from stepwell.runtime.machine.tile_permission import tile_refusal

    if "amx-int8" in cpu_features():
        refusal = tile_refusal()
        print("tile registers: " + ("used" if refusal is None else f"not used: {refusal}"))


def _print_tiles(shares: TileShares) -> None:
    if not shares:
        print("the order of register tiles was not measured for this target: they are chosen by heuristics")
        return
    print("register tiles, rows x vectors, the fastest first, in percent of the fastest")
    for name, rows in shares:
        fast = ", ".join(f"{m}x{v} {100 * share:.0f}" for m, v, share in rows[:_SHOWN])
        spilling = sum(share == 0 for _, _, share in rows)
        print(f"{name:>12}: {fast}, … {len(rows)} tiles" + f", {spilling} spill" * bool(spilling))
