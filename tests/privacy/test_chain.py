"""Receipts and the hashes that they stand on."""

import hashlib
import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp_bary.privacy import Receipt
from tests.world import Cost, Entry, next_link

AMOUNTS = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False)
UNITS = st.integers(min_value=0, max_value=10**18)


@given(
    st.builds(Entry, *[st.text()] * 4, *[AMOUNTS] * 2, *[st.text()] * 4),
    st.builds(Cost, UNITS, UNITS),
)
def test_a_link_is_the_hash_of_json(entry, cost):
    record = ["ab", asdict(entry), cost.loss, cost.delta]
    text = json.dumps(record, ensure_ascii=True, sort_keys=True)
    assert next_link("ab", entry, cost) == hashlib.sha256(text.encode()).hexdigest()


class TestReceipt:
    @pytest.mark.parametrize("number", [-1, 0.5, True, "1", None])
    def test_the_number_must_be_one(self, number):
        with pytest.raises((TypeError, ValueError), match="number"):
            Receipt("a", number, "b")

    @pytest.mark.parametrize("field", ["ledger", "link"])
    def test_names_are_text(self, field):
        with pytest.raises(TypeError, match=field):
            Receipt(**{"ledger": "a", "number": 1, "link": "b", field: None})

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "{}",
            '"receipt"',
            '{"ledger": "a", "number": 1}',
            '{"ledger": "a", "number": 1, "link": "b", "more": 2}',
        ],
    )
    def test_json_must_be_that_of_a_receipt(self, text):
        with pytest.raises(ValueError, match="must be a line of JSON with ledger, number, link"):
            Receipt.from_json(text)
        receipt = Receipt("a", 3, "b")
        assert Receipt.from_json(receipt.to_json()) == receipt
