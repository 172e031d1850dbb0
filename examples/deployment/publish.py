"""Publish the map of one month: python publish.py 2026-05 WAREHOUSE LEDGER SITE.

A scheduler runs it once a month. It may run again: a map that is there is left alone.
"""

import os
import sys
from pathlib import Path

import pyarrow.parquet
from decided import MAP, PERSONS, POLICY, TOWN

from skdp_bary import BudgetAccountant, PrivateEMDHeatmap


def publish(month, warehouse, ledger, site):
    """Write the map and the receipt of a month; return 3 where the budget refuses."""
    page = Path(site, f"{month}.geojson")
    if page.exists():
        return 0
    budget = BudgetAccountant.open(ledger)
    job = budget.under(POLICY, spender="monthly map")
    heatmap = PrivateEMDHeatmap(MAP, bounds=TOWN, n_hint=PERSONS, resolution=32, accountant=job)
    quote = job.quote(heatmap, n_features=2)
    if not quote.fits:
        sys.stderr.write(f"{month}: {quote.advice}\n")
        return 3
    rows = pyarrow.parquet.read_table(Path(warehouse, f"{month}.parquet"))
    heatmap.fit(rows, groups="person")
    draft = page.with_suffix(".draft")
    heatmap.save_geojson(draft, overwrite=True, period=month, unit="person")
    page.with_suffix(".receipt").write_text(budget.receipt().to_json())
    os.replace(draft, page)
    return 0


if __name__ == "__main__":
    sys.exit(publish(*sys.argv[1:]))
