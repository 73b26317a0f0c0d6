"""Programs of the accelerator as bytes: tokens, encoding, and runs on the simulator."""
