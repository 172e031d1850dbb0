"""What a private estimator promises and what is left of its budget, in diagrams and notebooks.

Everything shown is a parameter, a plan or a total of the ledger: no row is read and nothing is
charged.
"""

import warnings
from dataclasses import dataclass
from html import escape

from ..._sklearn import captioned_block

_RELATIONS = {
    "add_remove": "adding or removing one person",
    "replace_one": "replacing one person by another with the same label",
    "replace_any": "replacing one person by any other",
}
_REFUSALS = (TypeError, ValueError, ArithmeticError)  # of parameters that no fit accepts
ONE_OF_SEVERAL = "one of several fits of a search, which nothing adds up"
_SEEDED = "seeded noise: NOT PRIVATE"


@dataclass(frozen=True)
class Guarantee:
    """What one fit promises.

    Attributes
    ----------
    relation : {"add_remove", "replace_one", "replace_any"}
    epsilon, delta : float
    steps : tuple of (str, str)
        Names of the steps and of their mechanisms.
    seeded : bool
        Whether the noise can be drawn again, so that nothing is promised.
    condition : str, default=""
        When this holds: "" for a fit that was made.
    scope : str, default=""
        What epsilon and delta are the price of, where it is more than one fit.
    one_of_several : bool, default=False
        Whether a search made other fits too, and nothing adds them up.
    """

    relation: str
    epsilon: float
    delta: float
    steps: tuple
    seeded: bool
    condition: str = ""
    scope: str = ""
    one_of_several: bool = False

    @classmethod
    def of_plan(cls, plan, *, seeded, condition=""):
        """Return what a plan promises."""
        steps = tuple((step.name, type(step.mechanism).__name__) for step in plan.steps)
        terms = plan.relation, plan.epsilon, plan.delta
        return cls(*terms, steps, seeded, condition, plan.scope, plan.one_of_several)

    @property
    def mechanisms(self):
        """Names of the mechanisms, each once."""
        return ", ".join(dict.fromkeys(mechanism for _, mechanism in self.steps))


class GuaranteeRepr:
    """Show the guarantee in diagrams and notebooks.

    The estimator has an ``accountant`` and a method ``_guarantee``, which raises ValueError or
    TypeError where its parameters allow no fit.
    """

    def _sk_visual_block_(self):
        return captioned_block(self, _caption(self))

    def _html_repr(self):
        return super()._html_repr() + _table(self)

    def _get_params_html(self, *given, **named):
        shown = super()._get_params_html(*given, **named)
        # scikit-learn reads the docstring, once, and does not know its section "Privacy"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unknown section Privacy", UserWarning)
            shown._repr_html_inner()
        return shown


def _caption(estimator):
    try:
        guarantee = estimator._guarantee()
    except _REFUSALS:
        return "parameters that no fit accepts"
    if guarantee.seeded:
        return _SEEDED
    words = [
        f"epsilon={guarantee.epsilon}, delta={guarantee.delta}, {guarantee.relation}",
        guarantee.scope,
        ONE_OF_SEVERAL if guarantee.one_of_several else "",
        guarantee.mechanisms,
    ]
    if estimator.accountant is not None:
        words.append(f"left: {_left(estimator.accountant)}")
    return "; ".join(filter(None, words))


def _table(estimator):
    try:
        lines = _lines(estimator._guarantee())
    except _REFUSALS as error:
        lines = [("Guarantee", f"none: {error}")]
    lines.append(("Budget", _budget(estimator.accountant)))
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in lines
    )
    return f'<table class="skdp-guarantee"><caption>Privacy</caption><tbody>{body}</tbody></table>'


def _lines(guarantee):
    promise = f"epsilon={guarantee.epsilon}, delta={guarantee.delta}"
    if guarantee.scope:
        promise += f" for the whole search; {guarantee.scope}"
    if guarantee.one_of_several:
        promise += f"; {ONE_OF_SEVERAL}"
    if guarantee.seeded:
        promise = f"{_SEEDED}. It would be {promise} with random_state=None."
    return [
        ("Guarantee", promise + guarantee.condition),
        ("Neighbors", f"{guarantee.relation}: {_RELATIONS[guarantee.relation]}"),
        ("Mechanisms", "; ".join(f"{name}: {mechanism}" for name, mechanism in guarantee.steps)),
    ]


def _budget(accountant):
    if accountant is None:
        return "of its own: nothing adds up what several fits cost together"
    try:
        ceiling = f" of epsilon={accountant.epsilon}, delta={accountant.delta}"
    except AttributeError:
        return f"accountant is no BudgetAccountant, but {accountant!r}"
    return f"left: {_left(accountant)}{ceiling}"


def _left(accountant):
    try:
        epsilon, delta = accountant.remaining()
    except Exception as error:  # a picture must not fail because a server or a file cannot be read
        return f"cannot be read ({type(error).__name__})"
    return f"epsilon={epsilon}, delta={delta}"
