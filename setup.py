"""Make the page of a package index from the README; setup.cfg has everything else.

Links and the pictures of the README are relative, so that they work wherever the sources are. An
index needs full addresses: ``SKDP_BARY_HOME`` gives that of the repository when a release is built,
and the page then points at the files of this version. Without it the page has no links.
"""

import os
import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
LINK = re.compile(r"`([^`<]+?)\s*<([^>`]+)>`_")
PICTURE = re.compile(r"^\.\. (figure|image):: \S+\n(?:(?:   .*)?\n)+", re.MULTILINE)
ADDRESS = re.compile(r"^(\.\. (?:figure|image)::) ", re.MULTILINE)


def index_page(text, home, version):
    """Return the README with full addresses, or without links where there is no address."""
    if not home:
        return LINK.sub(r"\1", PICTURE.sub("", text))
    text = ADDRESS.sub(rf"\1 {home}/raw/v{version}/", text)
    return LINK.sub(rf"`\1 <{home}/blob/v{version}/\2>`__", text)


def addresses(home, version):
    """Return the addresses that an index lists beside the page."""
    pages = {"Documentation": "doc/index.rst", "What is new": "doc/whats_new.rst"}
    pages |= {"Security": "SECURITY.rst"}
    files = {name: f"{home}/blob/v{version}/{page}" for name, page in pages.items()}
    return {"Source": home, "Issues": f"{home}/issues"} | files if home else {}


def main():
    """Hand over what cannot stand in setup.cfg."""
    home = os.environ.get("SKDP_BARY_HOME", "").rstrip("/")
    (version,) = re.findall(r'__version__ = "(.+)"', (ROOT / "skdp_bary/_version.py").read_text())
    setup(
        long_description=index_page((ROOT / "README.rst").read_text(), home, version),
        project_urls=addresses(home, version),
    )


if __name__ == "__main__":
    main()
