"""Whether compiled code of this package is kept on disk, found out without loading numba."""

import sys
from functools import cache


@cache
def is_kept(source, name):
    """Tell whether compiled code of a function is beside its source, and no older.

    Parameters
    ----------
    source : Path
        The file that the function is in.
    name : str
    """
    pattern = f"{source.stem}.{name}-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    found = (source.parent / "__pycache__").glob(pattern)
    written = source.stat().st_mtime if source.exists() else 0.0
    return any(each.stat().st_mtime >= written for each in found)
