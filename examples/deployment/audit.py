"""Audit the maps of a site: python audit.py LEDGER SITE. The role needs to read only."""

import sys
from pathlib import Path

from decided import CEILING, POLICY

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import LedgerError
from skdp_bary.privacy import Receipt


def findings(ledger, site):
    """Yield in words what is wrong with a ledger, or between it and what was published."""
    budget = BudgetAccountant.open(ledger)
    pages = sorted(Path(site).glob("*.geojson"))
    for page in pages:
        try:
            budget.verify(Receipt.from_json(page.with_suffix(".receipt").read_text()))
        except (OSError, LedgerError) as error:
            yield f"{page.name}: {error}"
    charged = sum(entry.who.startswith("monthly map: ") for entry in budget.entries)
    if charged < len(pages):
        yield f"{len(pages)} maps are published, and {charged} were charged"
    if budget.epsilon != CEILING:
        yield f"the ceiling is epsilon={budget.epsilon}, and {CEILING} was promised"
    yield from POLICY.audit(budget.entries)


if __name__ == "__main__":
    found = list(findings(*sys.argv[1:]))
    sys.stdout.write("".join(f"{line}\n" for line in found or ["nothing was found"]))
    sys.exit(bool(found))
