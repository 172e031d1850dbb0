"""Make the table of start.rst about a plain install from the results of the benchmark.

``python doc/figures/draw_install.py``
"""

from evidence import read, write_table

USES = {
    "pot": "exact transport plans",
    "numba": "compiled transport maps and counts",
    "llvmlite": "compiler of numba",
    "scipy": "distributions, solvers",
    "numpy": "arrays",
    "scikit-learn": "the interface of estimators",
    "mpmath": "exact probabilities of noise",
    "joblib": "parallel counting",
}


def main():
    """Make the table."""
    rows = read("install_size")
    lines = [
        [row["package"], row["version"], f"{row['mb']:.0f}", USES[row["package"]]]
        for row in rows
        if row["package"] in USES
    ]
    rest = [row for row in rows if row["package"] not in USES]
    lines.append([", ".join(row["package"] for row in rest), "", _total(rest), ""])
    lines.append(["all", "", _total(rows), ""])
    write_table("install_size", ["package", "version", "MB", "used for"], lines)


def _total(rows):
    return f"{sum(row['mb'] for row in rows):.0f}"


if __name__ == "__main__":
    main()
