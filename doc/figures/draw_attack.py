"""Make the tables of threat_model.rst and of the first page, from what ``make attack`` kept.

``make attack MINUTES=10 RECORD=benchmarks/results/attack.json``, then
``python doc/figures/draw_attack.py``
"""

from math import floor

from evidence import read, write_table

RUN = {
    "date": "date",
    "minutes": "minutes",
    "workers": "processes",
    "skdp_bary": "skdp_bary",
    "python": "Python",
    "numpy": "numpy",
    "scipy": "scipy",
    "scikit-learn": "scikit-learn",
}


def tabulate_findings(found):
    """Write how often each promise was attacked, and how close an attack came."""
    rows = [
        [
            line["promise"],
            line["subject"],
            line["trials"],
            "" if line["worst"] is None else ratio(line["worst"]),
            line["violations"],
        ]
        for line in found["lines"]
    ]
    write_table("attack", ["promise", "about", "trials", "worst", "violations"], rows)


def summarize_findings(found):
    """Write one line for each promise: all trials, the closest attack, all violations."""
    rows = []
    for promise in dict.fromkeys(line["promise"] for line in found["lines"]):
        lines = [line for line in found["lines"] if line["promise"] == promise]
        worst = [line["worst"] for line in lines if line["worst"] is not None]
        rows.append([promise, sum(line["trials"] for line in lines)])
        rows[-1] += [ratio(max(worst)) if worst else "", sum(line["violations"] for line in lines)]
    write_table("attack_summary", ["promise", "trials", "worst", "violations"], rows)


def ratio(worst):
    """Return a ratio with three digits; one that is below 1 is not shown as 1."""
    return f"{worst if worst >= 1 else floor(1000 * worst) / 1000:.3f}"


def main():
    """Make the tables."""
    found = read("attack")
    tabulate_findings(found)
    summarize_findings(found)
    write_table("attack_run", list(RUN.values()), [[found[name] for name in RUN]])


if __name__ == "__main__":
    main()
