"""What check_private found, as an object, as text and in notebooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from .._sklearn import captioned_diagram

if TYPE_CHECKING:
    from .._types import Estimator

PRIVATE, PUBLIC, LEAKS, UNKNOWN = "private", "public", "leaks", "unknown"
_MARKS = {PRIVATE: "ok", PUBLIC: "ok", LEAKS: "LEAKS", UNKNOWN: "?"}
_WORDS = {PRIVATE: "paid", PUBLIC: "free", LEAKS: "LEAKS", UNKNOWN: "unknown"}
_COLORS = {PRIVATE: "seagreen", PUBLIC: "seagreen", LEAKS: "firebrick", UNKNOWN: "darkorange"}
_COLUMNS = ("step", "class", "verdict", "reason", "advice")


@dataclass(frozen=True)
class StepVerdict:
    """What was found about one step.

    Attributes
    ----------
    name : str
        Path of the step, as ``set_params`` would spell it.
    estimator : str
        Class of the step.
    verdict : {"private", "public", "leaks", "unknown"}
        "private": noise is added and paid for. "public": what it learns does not depend on the
        rows. "leaks": it learns from the rows without noise, or its noise or budget is undone.
        "unknown": nothing is known about it.
    reason : str
    advice : str
        What to do instead; empty where nothing is wrong.
    """

    name: str
    estimator: str
    verdict: str
    reason: str
    advice: str = ""


@dataclass(frozen=True)
class PrivacyReport:
    """Verdicts about every step, see :func:`check_private`.

    Attributes
    ----------
    steps : tuple of StepVerdict
    estimator : object or None
        What was checked, drawn in notebooks with a mark at every step.
    """

    steps: tuple
    estimator: Estimator | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether nothing leaks and nothing is unknown."""
        return all(step.verdict in (PRIVATE, PUBLIC) for step in self.steps)

    def _repr_html_(self):
        head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
        body = "".join(f"<tr>{_html_cells(step)}</tr>" for step in self.steps)
        whole = "every step keeps the guarantee" if self.ok else "not private, or not known to be"
        return (
            f"{self._diagram()}<table><caption>{whole}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )

    def _diagram(self):
        """Return the diagram of a pipeline with a mark at every step; of one estimator nothing."""
        if len(self.steps) < 2:
            return ""
        params = self.estimator.get_params()
        captions = {
            id(params[step.name]): f"{_WORDS[step.verdict]}: {step.reason}"
            for step in self.steps
            if step.name in params
        }
        return captioned_diagram(self.estimator, captions)

    def __str__(self):
        lines = []
        for step in self.steps:
            lines.append(
                f"{_MARKS[step.verdict]:>5}  {step.name} ({step.estimator}): {step.reason}"
            )
            if step.advice:
                lines.append(f"       do: {step.advice}")
        return "\n".join(lines)


def _html_cells(step):
    """Cells of one row; colors say nothing that the words do not."""
    color = _COLORS[step.verdict]
    texts = (step.name, step.estimator, step.verdict, step.reason, step.advice)
    cells = [f'<td style="text-align:left">{escape(text)}</td>' for text in texts]
    cells[2] = f'<td style="text-align:left;color:{color}"><b>{escape(step.verdict)}</b></td>'
    return "".join(cells)
