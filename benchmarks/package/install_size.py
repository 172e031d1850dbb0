"""What a plain install brings: packages, their versions and sizes on disk.

Walks what the package requires, without extras, and adds up the files that each distribution lists
in the environment of this interpreter.

``python -m benchmarks.package.install_size``
"""

import re
from importlib.metadata import PackageNotFoundError, distribution

from benchmarks.recording import Results

RESULTS = Results("install_size")
PACKAGE = "skdp_bary"


def required(name):
    """Return the names of what a distribution requires without an extra."""
    lines = distribution(name).requires or []
    return [re.match(r"[\w.-]+", line)[0] for line in lines if "extra ==" not in line]


def closure(name):
    """Return the names of all that comes with a distribution, without itself."""
    found, waiting = set(), [name]
    while waiting:
        for each in required(waiting.pop()):
            each = re.sub(r"[-_.]+", "-", each).lower()
            if each not in found:
                try:
                    distribution(each)
                except PackageNotFoundError:  # for another Python or system
                    continue
                found.add(each)
                waiting.append(each)
    return found


def size(name):
    """Return the bytes of the files of a distribution, without what Python compiles."""
    files = distribution(name).files or []
    paths = (file.locate() for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.exists())


def main():
    rows = [
        {"package": name, "version": distribution(name).version, "mb": round(size(name) / 1e6, 1)}
        for name in closure(PACKAGE)
    ]
    rows.sort(key=lambda row: -row["mb"])
    for row in rows:
        print(f"{row['package']:20} {row['version']:10} {row['mb']:8.1f} MB")
    print(f"{'all':31} {sum(row['mb'] for row in rows):8.1f} MB")
    RESULTS.write(rows)


if __name__ == "__main__":
    main()
