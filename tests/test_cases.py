"""That cases in one item are all run, and told where they fail."""

import pytest

from tests.cases import every


@every("a, b", [(1, 2), (3, 4)])
@every("c", "xy")
def test_cases_come_with_fixtures_and_multiply(a, b, c, request):
    assert b == a + 1 and c in "xy" and request.node.name.endswith("multiply")


def test_all_that_is_wrong_is_told():
    seen = []

    @every("n", [1, 2, 3])
    def odd(n):
        seen.append(n)
        with pytest.raises(ZeroDivisionError):
            1 // (n % 2 - 1)

    with pytest.raises(pytest.fail.Exception) as caught:
        odd()
    assert seen == [1, 2, 3] and caught.value.__notes__ == ["with {'n': 2}"]

    @every("n", [1, 2, 3])
    def never(n):
        raise ValueError(n)

    with pytest.raises(BaseExceptionGroup, match="3 of 3 cases are wrong"):
        never()


def test_no_case_is_wrong_too():
    with pytest.raises(AssertionError, match="no case"):
        every("n", [])
