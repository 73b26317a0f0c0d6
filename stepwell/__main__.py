"""`python -m stepwell`: the command `stepwell`, for systems without it on the path."""

import sys

from stepwell.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
