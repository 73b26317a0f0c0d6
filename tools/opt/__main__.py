"""`python -m stepwell.tools.opt` is `stepwell-opt`."""

import sys

from stepwell.tools.opt import main

sys.exit(main())
