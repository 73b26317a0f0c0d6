"""A tensor accelerator in the manner of VTA: its configuration, its instructions, and a simulator of it."""
