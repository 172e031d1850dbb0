"""The skeleton of a schema, for a person to fill in."""

import json

from ._kinds import KINDS

_HEAD = """\
# What every column can hold. Only the names were read, no row.
#
# Fill in the blanks from what is known in public: a code book, a form, a law. Ranges and lists of
# values that are copied from the rows are NOT public: the highest income is somebody's income.
#
# kind: one of {kinds}
#   number, integer  low, high                   (also: log; number also: resolution)
#                    special: [0, 999]           values that many rows may hold, also outside
#   date             low, high as '2020-01-31'   (also: resolution)
#   category         values: [one, another]      (ordinal: from the lowest to the highest)
#   boolean, text    nothing else
# missing: true where values may be missing, else false
#
# Take out the columns that are not to be in the release, such as ids, with all their lines: what is
# not declared is not read. Ids of persons are named by --groups.
columns:
"""
_COLUMN = """\
  {name}:
    kind:
    low:
    high:
    values:
    missing:
"""


def template_of(names):
    """Return a YAML text that names columns and leaves blank what they can hold."""
    # names in quotes: YAML reads some of them as something else
    columns = [_COLUMN.format(name=json.dumps(name, ensure_ascii=False)) for name in names]
    return _HEAD.format(kinds=", ".join(sorted(KINDS))) + "".join(columns)
