"""The page of the demonstration: everything in one file, to be read on any screen."""

import base64
from dataclasses import dataclass, field
from html import escape

_STYLE = """
:root { color-scheme: light dark;
  --ink: #1d2129; --paper: #fff; --line: #d8dce3; --faint: #596273; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ec; --paper: #14171c; --line: #383e49; --faint: #a0a9b8; } }
body { margin: 0 auto; padding: 1rem; max-width: 52rem; font: 1rem/1.55 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1 { line-height: 1.2; } h2 { margin: 2.5rem 0 0; line-height: 1.3; font-size: 1.3rem; }
code, .estimator { font-family: ui-monospace, monospace; font-size: .9rem; color: var(--faint); }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; border-radius: .5rem;
  background: #fff; border: 1px solid var(--line); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
caption { text-align: left; color: var(--faint); } summary { cursor: pointer; color: var(--faint); }
"""


@dataclass
class Section:
    """A question, the estimator that answers it, and what is shown of it."""

    question: str
    estimator: str
    findings: list = field(default_factory=list)
    quotes: list = field(default_factory=list)
    pictures: list = field(default_factory=list)

    def html(self):
        """Return the section as HTML."""
        findings = "".join(f"<li>{escape(text)}</li>" for text in self.findings)
        quotes = "".join(
            f"<details><summary>The quote of {name}: epsilon={quote.epsilon:g}, "
            f"delta={quote.delta:g}</summary><div class=wide>{quote._repr_html_()}</div></details>"
            for name, quote in self.quotes
        )
        pictures = "".join(map(self._picture, self.pictures))
        return (
            f"<section><h2>{escape(self.question)}</h2><div class=estimator>{self.estimator}</div>"
            f"<ul>{findings}</ul>{quotes}{pictures}</section>"
        )

    def _picture(self, path):
        data = base64.b64encode(path.read_bytes()).decode()
        return f'<img alt="{escape(self.question)}" src="data:image/png;base64,{data}">'


def write_page(path, n_people, sections, accountant):
    """Write the page, and return its path."""
    body = "\n".join(section.html() for section in sections)
    epsilon, delta = accountant.total()
    path.write_text(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>skdp_bary: one city, one budget</title><style>{_STYLE}</style></head><body>
<h1>One city, one budget</h1>
<p>Questions about the same {n_people:,} invented people. All answers together cost each of
them at most epsilon={epsilon:g}, delta={delta:g}. Pictures that show rows beside the release say
that they are not private.</p>
{body}
<div class=wide>{accountant._repr_html_()}</div>
</body></html>
""",
        encoding="utf-8",
    )
    return path
