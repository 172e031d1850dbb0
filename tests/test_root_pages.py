"""Pages at the root of the sources: links lead somewhere, versions agree, targets exist."""

import importlib.util
import re
import runpy
from configparser import ConfigParser
from pathlib import Path

import pytest

import skdp_bary
from tests.public import FILES

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("*.rst"))
CALLERS = [
    ".ci/run",
    ".github/workflows/tests.yml",
    ".github/workflows/weekly.yml",
    ".pre-commit-config.yaml",
    "CONTRIBUTING.rst",
    "SECURITY.rst",
    "doc/contributing.rst",
]
_LINK = re.compile(r"<([^>`\s]+)>`_")
_CALL = re.compile(
    r"(?:^step \d+ |``make |run: make |entry: make --\S+ |, target: )([a-z-]+)", re.MULTILINE
)


def test_links_lead_to_files():
    links = {page.name: _LINK.findall(page.read_text()) for page in PAGES}
    assert len(links) > 3 and sum(map(len, links.values())) > 20
    assert [link for found in links.values() for link in found if not (ROOT / link).exists()] == []


def _index_page(home):
    spec = importlib.util.spec_from_file_location("setup_script", ROOT / "setup.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.index_page((ROOT / "README.rst").read_text(), home, "0.2.0")


def test_the_page_of_an_index_has_full_addresses_or_none():
    page = _index_page("https://example.org/them/skdp_bary")
    links = re.findall(r"<([^>`\s]+)>`__", page)
    assert len(links) == len(_LINK.findall((ROOT / "README.rst").read_text())) > 10
    assert all(link.startswith("https://example.org/them/skdp_bary/blob/v0.2.0/") for link in links)
    assert ".. figure:: https://example.org/them/skdp_bary/raw/v0.2.0/doc/images/city.png\n" in page
    assert ".. image:: https://example.org/them/skdp_bary/raw/v0.2.0/doc/static/logo.svg\n" in page
    bare = _index_page("")
    assert (
        "<doc/" not in bare
        and "`_" not in bare
        and "figure::" not in bare
        and "image::" not in bare
    )
    assert "from the command line" in bare and ">>> rows = m.fit" in bare


def test_the_citation_is_of_this_version():
    assert f"\nversion: {skdp_bary.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_oldest_versions_in_the_readme_are_those_that_are_tested():
    oldest = dict(re.findall(r"^([\w-]+)==(\d+\.\d+)", (ROOT / ".ci/oldest.txt").read_text(), re.M))
    told = re.findall(
        r"(numpy|scipy|scikit-learn)\s(\d+\.\d+)\sto", (ROOT / "README.rst").read_text()
    )
    assert len(told) == 3 and all(oldest[name] == version for name, version in told)


def test_every_place_of_the_package_has_tests_that_mirror_it():
    mirror = runpy.run_path(str(ROOT / ".ci" / "tests-at"))["mirror"]
    for file in FILES:
        assert mirror(Path("skdp_bary", file), ROOT / "tests"), file
    assert mirror("skdp_bary/estimators/_kmeans", ROOT / "tests").parts[-2:] == (
        "estimators",
        "kmeans",
    )
    assert mirror("tests/test_layers.py", ROOT / "tests").name == "test_layers.py"
    assert mirror("_parameters.py", ROOT / "tests").name == "test_parameters.py"
    assert mirror("nothing", ROOT / "tests") is None


def test_every_example_of_the_gallery_runs_when_the_documentation_is_built():
    """They run nowhere else in continuous integration, and one that fails stops the build."""
    text = (ROOT / "doc" / "conf.py").read_text()
    settings = dict(re.findall(r'^    "(\w+)": "?(.*?)"?,$', text, re.MULTILINE))
    assert settings["abort_on_example_error"] == "True"
    scripts = [str(path) for path in (ROOT / settings["examples_dirs"][3:]).glob("*/plot_*.py")]
    assert len(scripts) > 20 and all(settings["filename_pattern"] in path for path in scripts)
    assert not [path for path in scripts if re.search(settings["ignore_pattern"], path)]
    assert re.search(r"^step \d+ docs$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)


def test_targets_that_are_called_exist():
    (listed,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for caller in CALLERS:
        called = set(_CALL.findall((ROOT / caller).read_text()))
        assert called and called <= set(listed.split()), caller


def test_the_conda_recipe_needs_what_the_package_needs():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    needed = config["options"]["install_requires"].split()
    recipe = (ROOT / ".ci/conda/meta.yaml").read_text(encoding="utf-8")
    run = recipe.partition("\n  run:\n")[2].partition("\n\n")[0]
    asked = [line.removeprefix("    - ").replace(" ", "") for line in run.splitlines()]
    python = "python" + config["options"]["python_requires"]
    assert asked == [python, *(each.replace("POT", "pot") for each in needed)]
    assert config["options.entry_points"]["console_scripts"].strip() in recipe
    assert re.search('__version__ = "(.+)"', (ROOT / "skdp_bary/_version.py").read_text())


def test_the_conda_recipe_renders_with_the_version_and_what_exists():
    """As conda build reads it: a template of Jinja first, YAML after that."""
    jinja2, yaml = pytest.importorskip("jinja2"), pytest.importorskip("yaml")
    folder = ROOT / ".ci/conda"

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        return re.search(regex_pattern, (folder / load_file).read_text(encoding="utf-8"))

    template = jinja2.Template((folder / "meta.yaml").read_text(encoding="utf-8"))
    text = template.render(load_file_regex=load_file_regex, PYTHON="python")
    recipe = yaml.safe_load(text)
    assert recipe["package"] == {"name": "skdp_bary", "version": skdp_bary.__version__}
    assert (folder / recipe["source"]["path"] / "setup.cfg").resolve() == ROOT / "setup.cfg"
    assert (ROOT / recipe["about"]["license_file"]).exists()
    assert "pip check" in recipe["test"]["commands"] and recipe["test"]["requires"] == ["pip"]
