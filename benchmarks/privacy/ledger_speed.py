"""Time spends: early and late in the life of a budget, and on a server beside a plain insert.

Prints seconds per spend after 100 and after 5000 entries, and their ratio, which stays near one
when a spend does not read the entries before it. ``python -m benchmarks.privacy.ledger_speed``

``python -m benchmarks.privacy.ledger_speed --opening`` times opening a ledger file of 100,000
entries, which reads and checks all of them, beside a verification, and keeps the best of five.

With an address of a PostgreSQL database it times a spend there in turns with the insertion and
commit of one row into a table, over a connection that stays open and over one of its own, and keeps
the medians:

    python -m benchmarks.privacy.ledger_speed --postgres postgresql://user@127.0.0.1:5432/database
"""

import argparse
import statistics
import tempfile
import time
import uuid
from pathlib import Path

from benchmarks.recording import Results
from skdp_bary import BudgetAccountant
from skdp_bary.privacy.entries import next_link
from skdp_bary.privacy.sqlite_file import insert

RESULTS = Results("ledger_speed")
SPENDS = 5000
EARLY = 100
ENTRIES = 100_000
TURNS = 300


def time_spends(accountant, n_parts):
    """Return the time of every spend, dealt out over `n_parts` parts (0: the whole data)."""
    views = [accountant.part(str(i)) for i in range(n_parts)] or [accountant]
    times = []
    for number in range(SPENDS):
        begin = time.perf_counter()
        views[number % len(views)].spend(0.001)
        times.append(time.perf_counter() - begin)
    return times


def compare_life():
    """Print early and late spends in memory and in a file."""
    print(
        f"{'ledger':8} {'composition':12} {'parts':>5} {'total':>9} {'early':>9} {'late':>9} ratio"
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("memory", "file"):
            for composition in ("sum", "renyi"):
                for n_parts in (0, SPENDS):
                    name = Path(folder) / f"{composition}{n_parts}.db"
                    accountant = BudgetAccountant(
                        1000.0,
                        1e-6,
                        composition=composition,
                        ledger=name if kind == "file" else None,
                    )
                    times = time_spends(accountant, n_parts)
                    early = sum(times[:EARLY]) / EARLY
                    late = sum(times[-EARLY:]) / EARLY
                    print(
                        f"{kind:8} {composition:12} {n_parts:5d} {sum(times):7.2f} s "
                        f"{early * 1e6:6.0f} us {late * 1e6:6.0f} us {late / early:5.2f}"
                    )


def compare_server(address):
    """Return the median times of a spend and of two kinds of plain inserts, in milliseconds."""
    import psycopg

    table = f"plain_{uuid.uuid4().hex}"
    insert = f"INSERT INTO {table} (who, amount) VALUES (%s, %s)"
    accountant = BudgetAccountant(1e6, ledger=f"{address}#{uuid.uuid4().hex}")
    times = {"spend": [], "insert": [], "connect_and_insert": []}
    with psycopg.connect(address) as kept:
        kept.execute(f"CREATE TABLE {table} (id SERIAL PRIMARY KEY, who TEXT, amount BIGINT)")
        kept.commit()

        def plain():
            kept.execute(insert, ("somebody", 1))
            kept.commit()

        def alone():
            with psycopg.connect(address) as own:
                own.execute(insert, ("somebody", 1))

        ways = {
            "spend": lambda: accountant.spend(0.01, who="somebody"),
            "insert": plain,
            "connect_and_insert": alone,
        }
        for _ in range(TURNS):
            for name, act in ways.items():
                begin = time.perf_counter()
                act()
                times[name].append(time.perf_counter() - begin)
        kept.execute(f"DROP TABLE {table}")
    medians = {f"{name}_ms": 1e3 * statistics.median(taken) for name, taken in times.items()}
    ratios = {
        f"spend_over_{name}": statistics.median(
            spend / other for spend, other in zip(times["spend"], times[name], strict=True)
        )
        for name in ("insert", "connect_and_insert")
    }
    return {"spends": TURNS} | {k: round(v, 2) for k, v in (medians | ratios).items()}


def fill(accountant, n_entries):
    """Put entries into a ledger file in one transaction: a charge each would take minutes."""
    ledger, cost = accountant._ledger, accountant._filter.price(0.01, 0.0)
    entry = accountant._entry("PrivateMeasure", 0.01, 0.0, "rows")
    with ledger._session(writing=True) as db:
        head, link = ledger._caught_up(db).head
        for number in range(head + 1, head + 1 + n_entries):
            link = next_link(link, entry, cost)
            insert(db, number, entry, cost, link)


def time_opening():
    """Return seconds that opening and verifying a large ledger file take."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        fill(BudgetAccountant(1e6, ledger=path), ENTRIES)
        found = BudgetAccountant.open(path)
        acts = {"open": lambda: BudgetAccountant.open(path), "verify": found.verify}
        times = {"entries": ENTRIES, "megabytes": round(path.stat().st_size / 1e6, 1)}
        for name, act in acts.items():
            for unit, clock in (("s", time.perf_counter), ("cpu_s", time.process_time)):
                times[f"{name}_{unit}"] = round(min(timed(act, clock) for _ in range(5)), 3)
    return times


def timed(act, clock):
    """Return what a clock says that a call took."""
    begin = clock()
    act()
    return clock() - begin


def keep(output, found):
    """Put results beside those of the other comparisons."""
    print(found)
    output.write(output.read({}) | found)


def main():
    """Parse the command line and run one of the three comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgres", metavar="ADDRESS", help="database to spend in")
    parser.add_argument("--opening", action="store_true", help="time opening a large file")
    parser.add_argument("--output", type=Results, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.postgres is not None:
        keep(arguments.output, compare_server(arguments.postgres))
    elif arguments.opening:
        keep(arguments.output, {"opening": time_opening()})
    else:
        compare_life()


if __name__ == "__main__":
    main()
