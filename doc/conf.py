"""Configuration of the documentation."""

import re

import skdp_bary

project = "skdp_bary"
author = "the skdp_bary developers"
version = release = skdp_bary.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False}
html_title = "skdp_bary"

napoleon_google_docstring = False
napoleon_custom_sections = [("Privacy", "notes_style")]
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more
# These libraries are not installed where the documentation is built.
autodoc_mock_imports = ["diffprivlib", "torch"]

# A folder for each kind of question.
GALLERY = ("places", "groups", "comparisons", "synthetic", "privacy")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [f"../examples/{name}" for name in GALLERY],
    "filename_pattern": "/plot_",
    "ignore_pattern": "demo|recipe",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
}

_LITERAL = re.compile(r"(``.*?``|`.*?`)")
_FITTED = re.compile(r"(?<![\w\\])(\w+)_(?!\w)")


def escape_fitted_names(app, what, name, obj, options, lines):
    """Keep reStructuredText from taking names of fitted attributes for references."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = _LITERAL.split(line)
            pieces[::2] = [_FITTED.sub(r"\1\_", piece) for piece in pieces[::2]]
            lines[number] = "".join(pieces)


def setup(app):
    """Register what autodoc should do after napoleon."""
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)
