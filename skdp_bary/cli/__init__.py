"""The command ``skdp-bary``: private releases from files, and budgets in ledgers."""

from .main import main  # noqa: F401
