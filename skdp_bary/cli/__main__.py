"""``python -m skdp_bary.cli`` does what ``skdp-bary`` does."""

import sys

from ._main import main

sys.exit(main())
