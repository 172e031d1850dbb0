"""The command ``skdp-bary``: private releases from files, and budgets in ledgers."""

from ._main import main

__all__ = ["main"]
