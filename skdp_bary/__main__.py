"""``python -m skdp_bary`` does what ``skdp-bary`` does."""

import sys

from .cli import main

sys.exit(main())
