"""``python -m skdp_bary`` does what ``skdp-bary`` does."""

import sys

from .cli.main import main

sys.exit(main())
