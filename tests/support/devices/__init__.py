"""Support of the tests of devices: models as kernels of a GPU, and runs of source text."""
