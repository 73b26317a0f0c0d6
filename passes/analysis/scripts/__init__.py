"""Scripts of schedules on kernels: stages, loop nests with decisions, replay."""
