"""Facts about IR that passes, conversions and the driver share: symbols, sizes, calls, memory plans."""
