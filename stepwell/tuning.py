"""Tuning: `from stepwell import tuning`, the parts of `stepwell tune` for programs."""

from stepwell.tools.records.database import Database, TuningWarning
from stepwell.tools.records.record import Plan, TaskRecord, Trial
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.report import TaskReport, TuningReport
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task, extract_tasks
from stepwell.tools.tuning.tune import tune

__all__ = [
    "Database",
    "LocalRunner",
    "Plan",
    "Space",
    "Task",
    "TaskRecord",
    "TaskReport",
    "Trial",
    "TuningReport",
    "TuningWarning",
    "extract_tasks",
    "tune",
]
