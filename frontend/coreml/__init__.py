"""Core ML packages and models: a bounded reader of ML programs, without coremltools."""
