"""Support of the tests of numbers: functions with the errors that are allowed."""
