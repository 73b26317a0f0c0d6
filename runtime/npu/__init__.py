"""A tensor accelerator in the manner of VTA: configuration, instructions, simulator."""
