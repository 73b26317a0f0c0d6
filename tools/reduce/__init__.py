"""Programs made smaller that still fail in the same way: `stepwell reduce`."""
