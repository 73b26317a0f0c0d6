"""Tuning: `from stepwell import tuning`, the parts of `stepwell tune` for programs."""

from stepwell.tools.records.database import Database, TuningWarning
from stepwell.tools.records.record import Plan, Record, TaskRecord, Trial
from stepwell.tools.tuning.entry import build, tune
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.fleets import Cluster, Fleet, LocalFleet, RpcCluster, Security, fleet
from stepwell.tools.tuning.fleets.interface import Answer, Batch
from stepwell.tools.tuning.report import TaskReport, TuningReport
from stepwell.tools.tuning.sketches import sketch
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task, extract_tasks
from stepwell.tools.tuning.templates import Template, TemplateReport, template

__all__ = [
    "Answer",
    "Batch",
    "Cluster",
    "Database",
    "Fleet",
    "LocalFleet",
    "LocalRunner",
    "Plan",
    "Record",
    "RpcCluster",
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
    "fleet",
    "sketch",
    "template",
    "tune",
]
