"""The subcommands of `stepwell`, one a file: `add_arguments(parser)` and `run(args) -> exit status`."""
