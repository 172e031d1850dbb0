"""Make the tables of tuning.rst from the settings objects of the estimators.

``python doc/figures/draw_tuning.py``
"""

import ast

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
    """Yield (name, value) of every field of the settings in a module."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Tuning"):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and field.value is not None:
                    yield field.target.id, ast.unparse(field.value)


def main():
    """Make a table for each family."""
    for name, file in FAMILIES.items():
        rows = list(numbers_of((ESTIMATORS / f"{file}.py").read_text()))
        write_table(f"tuning_{name}", ["constant", "value"], rows)


if __name__ == "__main__":
    main()
