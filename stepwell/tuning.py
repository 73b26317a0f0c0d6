"""Tuning: `from stepwell import tuning`, the parts of `stepwell tune` for programs."""

from stepwell.tools.records.database import Database, TuningWarning
from stepwell.tools.records.record import Plan, Record, TaskRecord, Trial
from stepwell.tools.tuning.cluster import Cluster, Security
from stepwell.tools.tuning.entry import build, tune
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.report import TaskReport, TuningReport
from stepwell.tools.tuning.sketches import sketch
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task, extract_tasks
from stepwell.tools.tuning.templates import Template, TemplateReport, template

__all__ = [
    "Cluster",
    "Database",
    "LocalRunner",
    "Plan",
    "Record",
    "Security",
    "Space",
    "Task",
    "TaskRecord",
    "TaskReport",
    "Template",
    "TemplateReport",
    "Trial",
    "TuningReport",
    "TuningWarning",
    "build",
    "extract_tasks",
    "sketch",
    "template",
    "tune",
]
