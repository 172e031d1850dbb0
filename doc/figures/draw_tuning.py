"""Make the tables of tuning.rst from the settings objects of the estimators.

``python doc/figures/draw_tuning.py``
"""

import ast
import re

from evidence import DOC, write_table

ESTIMATORS = DOC.parent / "skdp_bary" / "estimators"
FAMILIES = {
    "trees": "noisy_means",
    "kmeans": "clustering",
    "barycenter": "barycenter_methods",
    "heatmap": "heatmap",
    "sliced": "comparison",
    "generator": "generator_mixture",
    "adapter": "adapter_source",
    "table": "table_queries",
    "scaler": "scaling",
}


def numbers_of(source):
    """Yield (where, name, value, what it trades) of every field of the settings in a module."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Tuning"):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and field.value is not None:
                    yield (
                        part_of(lines, node.lineno, field.lineno),
                        field.target.id,
                        ast.unparse(field.value),
                        comment_of(lines, field),
                    )


def part_of(lines, first, line):
    """Return the heading comment that stands last before a line of a class."""
    heads = [text.strip()[2:] for text in lines[first:line] if re.match(r"    # ", text)]
    return heads[-1] if heads else ""


def comment_of(lines, field):
    """Return what stands beside a number, to the end of its line."""
    return lines[field.end_lineno - 1][field.end_col_offset :].partition("#")[2].strip()


def main():
    """Make a table for each family."""
    for name, file in FAMILIES.items():
        rows = list(numbers_of((ESTIMATORS / f"{file}.py").read_text()))
        write_table(f"tuning_{name}", ["part", "number", "value", "what it trades"], rows)


if __name__ == "__main__":
    main()
