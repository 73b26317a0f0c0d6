"""The fleet of this machine alone: candidates are compiled by several processes, and measured by one."""

from __future__ import annotations

from collections.abc import Iterator

from stepwell.runtime.machine.machine_name import machine_name
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.fleets.cluster_worker import Bench
from stepwell.tools.tuning.fleets.interface import Answer, Batch, Fleet, Verdicts


class LocalFleet(Fleet):
    """Processes here: one measures while those of the runner's `jobs` compile."""

    def __init__(self, runner: LocalRunner):
        """Args: `runner` ends with the fleet."""
        self._runner, self._verdicts = runner, Verdicts()
        self._bench = Bench(runner, machine_name())

    def tried(self, batch: Batch) -> Iterator[Answer]:
        """The verdicts on a batch, in the order of its candidates. Raises: StepwellError."""
        jobs = batch.jobs(self._runner.clock)
        for job, row in zip(jobs, self._bench.tried_all(jobs), strict=True):
            yield self._verdicts.of(job["number"], job["script"], row)

    def close(self) -> None:
        """End the processes."""
        super().close()
        self._runner.close()
