"""Loop scripts: functions with loops in a small part of Python, parsed and written."""
