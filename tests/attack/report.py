"""The table of what attacks found."""

import platform
from datetime import date
from importlib.metadata import version

import skdp_bary

_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def versions():
    """Return the date, and what was attacked with which versions."""
    return {
        "date": date.today().isoformat(),
        "skdp_bary": skdp_bary.__version__,
        "python": platform.python_version(),
    } | {name: version(name) for name in _LIBRARIES}


def table(found):
    """Return a table of text, followed by every violation in words."""
    lines = found["lines"]
    width = max((len(line["promise"]) for line in lines), default=20)
    rows = [f"{'promise':<{width}} {'trials':>9} {'worst realised/stated':>22} {'violations':>11}"]
    said = None
    for line in lines:
        if line["subject"] and line["promise"] != said:
            rows.append(line["promise"])
        said = line["promise"]
        label = f"    {line['subject']}" if line["subject"] else said
        worst = "" if line["worst"] is None else f"{line['worst']:.6f}"
        rows.append(f"{label:<{width}} {line['trials']:>9,} {worst:>22} {line['violations']:>11}")
    rows += [f"VIOLATION  {line['promise']}: {text}" for line in lines for text in line["texts"]]
    trials = sum(line["trials"] for line in lines)
    violations = sum(line["violations"] for line in lines)
    summary = f"{trials:,} trials in {found['minutes']} minutes, {violations} violations"
    return "\n".join([*rows, f"{summary} (seed {found['seed']})"])
