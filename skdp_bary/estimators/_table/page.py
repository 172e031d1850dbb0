"""The report of a table as one page of HTML, pictures included."""

import base64
from html import escape
from io import BytesIO
from pathlib import Path

import numpy as np

from ..._optional import import_optional

_MOST_PICTURES = 24
_LONGEST = 24  # letters of a label
_STYLE = """\
body { font-family: sans-serif; max-width: 60rem; margin: 2rem auto; }
.warning { border: 2px solid #b00; color: #b00; padding: .7rem; font-weight: bold; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; text-align: left; }
img { width: 100%; }
"""


def html_page(report, warning, path):
    """Write the page."""
    pictures = [_histograms(report), _pairs(report)]
    images = "".join(f'<img src="data:image/png;base64,{data}">' for data in pictures if data)
    rows = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{value}</td></tr>" for name, value in _lines(report)
    )
    Path(path).write_text(
        "<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>Synthetic table</title>"
        f"<style>{_STYLE}</style></head><body><h1>Synthetic table</h1>"
        f'<p class="warning">{escape(warning)}</p><table>{rows}</table>{images}</body></html>\n',
        encoding="utf-8",
    )


def _lines(report):
    for name, value in report.marginals.items():
        yield f"column {name}: total variation", f"{value:.3f}"
    for name, missed in report.missed.items():
        for words, real, drawn in missed:
            yield (
                f"column {name}: {words} is hardly drawn",
                f"{real:.1%} of rows, {drawn:.1%} drawn",
            )
    for name, found in report.learned.items():
        words = ", ".join(f"{what} {value:.3f}" for what, value in found.items())
        yield f"boosted trees trained on {name} rows, tested on real ones", words
    for name, value in report.closest.items():
        yield f"{name} rows: median distance to the nearest row of the table", f"{value:.3f}"
    if report.attack is not None:
        yield "membership attack: area under the curve (0.5 is a coin)", f"{report.attack:.3f}"


def _histograms(report):
    """Return a picture of the histograms of columns, real and drawn."""
    names = list(report.histograms)[:_MOST_PICTURES]
    n_rows = -(-len(names) // 3)
    figure = _figure(11, 2.6 * n_rows)
    for place, name in enumerate(names):
        words, real, drawn = report.histograms[name]
        axes = figure.add_subplot(n_rows, 3, place + 1)
        at = np.arange(len(words))
        axes.bar(at - 0.2, real, width=0.4, color="0.6", label="real")
        axes.bar(at + 0.2, drawn, width=0.4, color="C0", label="drawn")
        shown = at[:: max(len(at) // 6, 1)]
        axes.set_xticks(shown, [_short(words[i]) for i in shown], fontsize=6, rotation=20)
        axes.set_title(str(name), fontsize=9)
    figure.axes[0].legend(fontsize=7)
    return _png(figure)


def _short(words):
    return words if len(words) <= _LONGEST else words[: _LONGEST - 3] + "..."


def _pairs(report):
    """Return a picture of the distances of pairs, or None where there are none."""
    if not report.pairs:
        return None
    names = list(report.marginals)
    values = np.diag([report.marginals[name] for name in names])
    for (first, second), value in report.pairs.items():
        i, j = names.index(first), names.index(second)
        values[i, j] = values[j, i] = value
    figure = _figure(8, 7)
    axes = figure.add_subplot(1, 1, 1)
    image = axes.imshow(values, vmin=0.0, cmap="Reds")
    axes.set_xticks(range(len(names)), [str(n)[:14] for n in names], rotation=90, fontsize=7)
    axes.set_yticks(range(len(names)), [str(n)[:14] for n in names], fontsize=7)
    axes.set_title("total variation of columns and pairs")
    figure.colorbar(image)
    return _png(figure)


def _figure(width, height):
    figures = import_optional("matplotlib.figure", "plot", "TableReport.to_html")
    return figures.Figure(figsize=(width, height), layout="constrained")


def _png(figure):
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=90)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
