"""From an estimator to a release: the price, the charge, the file and the words."""

import os
import shlex
import sys
from functools import partial
from pathlib import Path

from ..exceptions import BudgetError
from ..privacy._checks import in_digits
from ..privacy._neighbors import ADD_REMOVE
from ..privacy.ledger.accountant import BudgetAccountant
from ..privacy.ledger.entry import ROWS, UNNAMED
from ._files import PromisedFile, check_target
from ._interrupts import uninterrupted
from ._pages import KEPT, NEED_DELTA, REFUSED
from ._text import say, shown


def offer(estimator, n_features, fit, given, check_form=None):
    """Make a release, or say what it would cost; return the exit status.

    Parameters
    ----------
    estimator : estimator
        Its accountant is the budget.
    n_features : int
    fit : callable
        Takes the estimator and fits it; its ``unit`` is what a person is.
    given : Namespace
        Options, with ``said``, a function of estimator and options that says what was released,
        and ``write``, one of these and of the ending of a name that returns the content of a file,
        or None where nothing is written.
    check_form : callable or None, default=None
        Raises unless a file of that name can be written.
    """
    accountant = estimator.accountant
    if given.write is not None:
        _check_out(given, check_form)
    unit = given.unit or {None: ROWS, ROWS: UNNAMED}.get(given.groups, given.groups)
    if given.dry_run:
        quote = accountant.quote(estimator, n_features, unit=unit)
        say(_quote_in_words(quote, accountant.ledger))
        return 0 if quote.fits else REFUSED
    accountant.check(estimator.privacy_plan(n_features), who=type(estimator).__name__, unit=unit)
    fit = partial(fit, unit=unit)
    if given.write is not None:
        return _release_to_file(estimator, fit, given)
    fit(estimator)
    _tell(f"{given.said(estimator, given)}; {_left(accountant)}")
    return 0


def persons_in_words(columns, groups):
    """Return which columns make a row, and what a person is."""
    person = "a row" if groups is None else f"all rows with one value of {shown(groups)}"
    return f"a row is ({', '.join(map(shown, columns))}); a person is {person}"


def _check_out(given, check_form):
    """Raise unless the release can have the form and the name that are asked for."""
    if given.out is None:
        if given.dry_run:
            return
        raise ValueError("--out is needed: the file that the release is written to.")
    check_form(given.out)
    check_target(given.out, given.overwrite)
    for read in (given.table, given.ledger, getattr(given, "schema", None)):
        there = read is not None and Path(given.out).exists() and Path(read).exists()
        if there and os.path.samefile(given.out, read):
            raise ValueError(f"--out {given.out} is {read}, which would be replaced.")


def _release_to_file(estimator, fit, given):
    """Fit and write; everything that could be in the way of the file is met before the charge."""
    with PromisedFile(given.out, given.overwrite) as file:
        fit(estimator)
        with uninterrupted():
            whole = _deliver(file, estimator, given)
    said = f"{given.said(estimator, given)}; " if whole else ""
    _tell(f"{said}{_left(estimator.accountant)}")
    return 0 if whole else KEPT


def _deliver(file, estimator, given):
    """Write the release, as arrays if the form asked for fails; return whether all went well."""
    try:
        content, ending = given.write(estimator, given, Path(given.out).suffix), None
    except Exception as error:
        say(f"skdp-bary: {type(error).__name__}: {error}", sys.stderr)
        content, ending = given.write(estimator, given, ".npz"), ".npz"
    return file.deliver(content, ending)


def _tell(text):
    """Print what was paid for; where the output cannot be written any more, as an error."""
    try:
        say(text)
    except OSError:
        say(text, sys.stderr)


def _left(accountant):
    if accountant.ledger is None:
        epsilon, delta = accountant.total()
        return f"spent {_amounts(epsilon, delta)}, recorded nowhere (no --ledger)"
    epsilon, delta = accountant.remaining()
    return f"left of the budget: {_amounts(epsilon, delta)}"


def _amounts(epsilon, delta):
    return f"epsilon={in_digits(epsilon)}, delta={in_digits(delta)}"


def open_budget(given):
    """Return the budget that a release is charged to: that of --ledger, or one of its own."""
    if given.ledger is None:
        relation = given.neighbors or ADD_REMOVE
        return BudgetAccountant(given.epsilon, given.delta, neighbors=relation)
    accountant = BudgetAccountant.open(given.ledger)
    if given.neighbors not in (None, accountant.neighbors):
        raise ValueError(
            f"--neighbors {given.neighbors} differs from the ledger's {accountant.neighbors}."
        )
    if given.delta > accountant.delta == 0:
        raise BudgetError(
            f"The ledger {given.ledger} has delta=0, so it pays for releases with --delta 0 alone, "
            f"and this one asks for {in_digits(given.delta)}. {_pure_form(given)} Its owner can "
            f"raise it: skdp-bary budget raise {shlex.quote(given.ledger)} "
            f"--epsilon {in_digits(accountant.epsilon)} --delta {in_digits(given.delta)}. "
            "Nothing was charged."
        )
    return accountant


def _pure_form(given):
    """Say whether the release that is asked for can do without a delta."""
    if getattr(given, "release", None) in NEED_DELTA:
        return f"{given.release} needs a delta."
    return "Say --delta 0."


def _quote_in_words(quote, ledger):
    fits = "fits" if quote.fits else "DOES NOT FIT"
    lines = [
        f"{_amounts(quote.epsilon, quote.delta)}, {quote.plan.relation}; "
        + ("no --ledger to charge" if ledger is None else fits),
        *(f"  {step.name}: {step.mechanism}" for step in quote.plan.steps),
    ]
    if ledger is not None:
        for when, left in (("now", quote.now), ("afterwards", quote.after)):
            if left is not None:
                lines.append(f"left {when}: {_amounts(*left)}")
    return "\n".join([*lines, quote.advice] if quote.advice else lines)
