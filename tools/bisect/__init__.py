"""The search for the pass run, the kernel and the rewrite that make a program wrong."""
