"""Few bits, language models and quantizing against other engines: `python -m benchmarks.low_precision`."""
