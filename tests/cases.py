"""Many small cases of one test, in one item: all of them run, and all that fail are told."""

import functools
import inspect

import pytest

_PARAM = type(pytest.param())


def every(names, cases, ids=None):
    """Like ``pytest.mark.parametrize``, for cases that cost less than being an item each.

    They share the fixtures of the test, so these must not remember anything.
    """
    names, cases = [name.strip() for name in names.split(",")], list(cases)
    assert cases, "no case of a test was found"

    def decorate(test):
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(*args, **given):
            wrong = []
            for case in cases:
                values = dict(zip(names, _values(case, len(names)), strict=True))
                try:
                    test(*args, **given, **values)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"with {values}")
                    wrong.append(error)
            if wrong:
                told = f"{len(wrong)} of {len(cases)} cases are wrong"
                raise wrong[0] if len(wrong) == 1 else BaseExceptionGroup(told, wrong)

        left = [p for name, p in signature.parameters.items() if name not in names]
        run.__signature__ = signature.replace(parameters=left)
        return run

    return decorate


def _values(case, n_names):
    """Return the values of a case, which may be one value, a tuple or a ``pytest.param``."""
    if isinstance(case, _PARAM):
        return case.values
    return case if n_names > 1 else (case,)
