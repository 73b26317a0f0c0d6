"""Rewrites of structured ops that schedules ask for: inlining, copies, partial results, layouts."""
