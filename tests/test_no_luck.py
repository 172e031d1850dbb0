"""No test depends on luck: see ``tests/conftest.py``, whose rules are tried here."""

import ast
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from skdp_bary import PrivateMeasure
from skdp_bary.exceptions import PrivacyWarning
from tests.world import noise_generator, public_generator

TESTS = Path(__file__).parent
# generators of numpy and Python that are seeded by the operating system when they are given nothing
UNSEEDED = {"default_rng", "RandomState", "SeedSequence", "PCG64", "Philox", "Random"}
FROM_THE_SYSTEM = {"urandom", "SystemRandom", "randbits"}
MEANT = {
    ("attack/__main__.py", "randbits"),  # every run attacks with other seeds
    ("transformers/test_row_by_row.py", "default_rng"),  # noise that differs is what is caught
    ("test_no_luck.py", "default_rng"),
}


def unseeded(source):
    """Names of the generators that a source makes from bits of the operating system."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [(getattr(c.func, "attr", getattr(c.func, "id", "")), c) for c in calls]
    return {
        name
        for name, call in named
        if name in FROM_THE_SYSTEM or (name in UNSEEDED and not call.args and not call.keywords)
    }


def test_no_test_makes_a_generator_without_a_seed():
    files = {path.relative_to(TESTS).as_posix(): path.read_text() for path in TESTS.rglob("*.py")}
    found = {(file, name) for file, source in files.items() for name in unseeded(source)}
    assert len(files) > 100 and found == MEANT - {("test_no_luck.py", "default_rng")}
    assert unseeded("np.random.default_rng()") == {"default_rng"}
    assert unseeded("np.random.default_rng(0)") == unseeded("random.Random(3)") == set()


# Files that start processes, which draw bits of the operating system, and why that is no luck.
PROCESSES = {
    "no fit runs in its processes": "budget cli text interop displays accountant_processes engine "
    "ledger_backup ledger_crash ledger_together opening optional postgres_faults layers threads "
    "free_support",
    "its processes count rows, and noise is drawn by the one that fits": "cluster_faults "
    "larger_than_memory on_a_cluster two_hosts counting dask progress",
    "its fits in other processes are charged or refused, whatever they draw": "budget_composition "
    "searches",
    "the one that draws is marked as unseeded": "sampler no_luck",
    "files are whole, and full disks are told, whatever is written": "files",
    "what a fit draws is not asked for": "guarantee",
    "maps and a ledger are there, whatever the maps show": "deployment",
}
STARTS = r"subprocess\.(run|Popen)|import multiprocessing|n_jobs=2|\"loky\"|processes=True|os\.fork"


def test_it_is_known_why_processes_of_tests_are_no_luck():
    """They are out of the reach of the bits that tests start from."""
    starting = {path.name for path in TESTS.rglob("*.py") if re.search(STARTS, path.read_text())}
    known = {f"test_{name}.py" for names in PROCESSES.values() for name in names.split()}
    assert len(starting) > 15 and starting <= known | {"conftest.py", "damage.py"}


def test_warnings_are_errors_and_so_is_what_we_do_that_is_deprecated():
    for kind in (UserWarning, DeprecationWarning, FutureWarning, PrivacyWarning):
        with pytest.raises(kind):
            warnings.warn("planted", kind, stacklevel=1)


FIRST = np.random.Philox(0).random_raw(4)


@pytest.mark.parametrize("again", [False, True])
def test_every_test_draws_the_same_noise(again):
    np.testing.assert_array_equal(noise_generator().words(4), FIRST)


def test_fits_without_a_seed_are_repeatable_and_say_that_they_are_not_seeded():
    X = np.linspace(0, 1, 50)[:, None]
    one, other = (PrivateMeasure(bounds=(0, 1), depth=3, n_hint=50).fit(X) for _ in range(2))
    assert not np.array_equal(one.weights_, other.weights_) and not one._seeded


@pytest.fixture(scope="module")
def drawn_once():
    return noise_generator().words(4)


def test_fixtures_of_a_module_draw_the_same_too(drawn_once):
    np.testing.assert_array_equal(drawn_once, FIRST)


@pytest.mark.unseeded("256 random bits are equal to 256 others with probability 2**-256")
def test_the_operating_system_gives_other_bits_every_time():
    seen = [tuple(noise_generator().words(4)) for _ in range(3)]
    seen += [tuple(public_generator().integers(2**63, size=5)) for _ in range(3)]
    code = "from skdp_bary.privacy.noise import noise_generator as made\n"
    code += "print(*made().words(4))"
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        seen.append(tuple(map(int, run.stdout.split())))
    assert len(set(seen)) == len(seen) and tuple(FIRST) not in seen
