"""Where the quotes of a CSV file stand, found for sixty-four bytes at a time.

A bit stands for a byte, eight bytes of bits for a word: the first byte is the lowest bit.
"""

import numpy as np

_COMMA, _QUOTE, _END = b","[0], b'"'[0], b"\n"[0]


def quotes_are_whole(block):
    """Whether in every line the first quote begins a cell, the second ends it, and so on.

    A doubled quote ends and begins again, so both may also stand beside a quote.

    Parameters
    ----------
    block : bytes
        Whole lines.
    """
    data = np.frombuffer(block, np.uint8)
    quotes, ends, edges = (_words(data == sign) for sign in (_QUOTE, _END, _COMMA))
    edges |= quotes | ends
    within = _odd_so_far(quotes)
    beginning, ending = quotes & within, quotes & ~within
    wrong = beginning & ~_after(edges)
    wrong |= ending & ~_before(edges)
    wrong |= within & ends
    return not wrong.any()


def _words(found):
    bits = np.packbits(found, bitorder="little")
    words = np.zeros(-(-len(bits) // 8), "<u8")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def _odd_so_far(words):
    """Set the bits up to which, and with which, an odd number is set."""
    odd = words.copy()
    for width in (1, 2, 4, 8, 16, 32):
        odd ^= odd << np.uint64(width)
    odd_after = np.bitwise_xor.accumulate(odd >> np.uint64(63))
    odd[1:] ^= -odd_after[:-1]  # all ones where the words before hold an odd number
    return odd


def _after(words):
    """Set the bits after those that are set; the first one stands after the end of a line."""
    found = words << np.uint64(1)
    found[1:] |= words[:-1] >> np.uint64(63)
    found[0] |= np.uint64(1)
    return found


def _before(words):
    """Set the bits before those that are set."""
    found = words >> np.uint64(1)
    found[:-1] |= words[1:] << np.uint64(63)
    return found
