"""Models of other CPUs under an emulator: programs with a driver, boards without a system, calls."""
