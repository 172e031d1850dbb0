"""Configuration of the documentation; nothing in a build or in a page needs a network."""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

from sklearn_links import SITE, write_inventory  # noqa: E402
from sphinx.addnodes import pending_xref  # noqa: E402

import skdp_bary  # noqa: E402

project = "skdp_bary"
author = "the skdp_bary developers"
version = release = skdp_bary.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
exclude_patterns = ["_build", "templates"]
templates_path = ["templates"]

html_theme = "pydata_sphinx_theme"
html_title = f"skdp_bary {version}"
html_static_path = ["static"]
html_logo = html_favicon = "static/logo.svg"  # of colors that are seen on white and on black
html_css_files = ["skdp_bary.css"]
html_math_renderer = "mathml"
html_copy_source = False
toc_object_entries_show_parents = "hide"
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": f"skdp_bary {version}", "alt_text": "skdp_bary"},
    "show_prev_next": True,
    "header_links_before_dropdown": 5,
    "collapse_navigation": True,
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
if home := os.environ.get("SKDP_BARY_HOME"):  # the address of the repository, see setup.py
    html_theme_options["icon_links"] = [
        {"name": "Repository", "url": home, "icon": "fa-solid fa-code-branch"}
    ]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

napoleon_google_docstring = False
smartquotes = False  # values of parameters are copied with their quotes
napoleon_custom_sections = [("Privacy", "notes_style")]
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say more
# These libraries are not installed where the documentation is built.
autodoc_mock_imports = ["diffprivlib", "torch"]
autosummary_context = {
    "guides": {
        "BudgetAccountant": "/explanation/budget",
        "DPSlicedWasserstein": "/explanation/sliced",
        "PrivateDomainAdapter": "/explanation/adaptation",
        "PrivateDriftSketch": "/explanation/two_samples",
        "PrivateEMDHeatmap": "/explanation/heatmap",
        "PrivateGenerator": "/explanation/generator",
        "PrivateKMeans": "/explanation/kmeans",
        "PrivateMeasure": "/explanation/private_measure",
        "PrivateTable": "/explanation/table",
        "PrivateTwoSampleTest": "/explanation/two_samples",
        "PrivateWassersteinBarycenter": "/explanation/barycenter",
    },
    # What an author of a new estimator writes.
    "overridden": {"BasePrivateEstimator": "_shares, _questions, _finish, _public_classes"},
}

INVENTORY = HERE / "_build" / "sklearn.inv"
write_inventory(INVENTORY)
intersphinx_mapping = {"sklearn": (SITE, str(INVENTORY))}

# A folder for each kind of question.
GALLERY = ("places", "groups", "comparisons", "synthetic", "privacy")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [f"../examples/{name}" for name in GALLERY],
    "filename_pattern": "/plot_",
    "ignore_pattern": "demo",
    "abort_on_example_error": True,
    "backreferences_dir": "reference/examples",
    "doc_module": ("skdp_bary",),
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


def leave_out_what_others_wrote(app, what, name, obj, skip, options):
    """Leave out methods that every estimator of scikit-learn has, such as ``get_params``."""
    written_in = getattr(getattr(obj, "fget", obj), "__module__", "skdp_bary") or ""
    return True if not written_in.startswith("skdp_bary") else None


def unlink_lengths(app, doctree):
    """Take the links from words in types, as in "array of shape (n_features,)"."""
    for node in list(doctree.findall(pending_xref)):
        word = node["reftarget"]
        if node["reftype"] == "class" and word.islower() and "." not in word:
            node.replace_self(node.children)


def setup(app):
    """Register what autodoc should do after napoleon, and what follows it."""
    app.connect("doctree-read", unlink_lengths)
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)
    app.connect("autodoc-skip-member", leave_out_what_others_wrote)
