"""Math as MathML, which browsers draw by themselves: no script, no fonts, no network."""

from html import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def draw(node, display):
    """Return the MathML of a node, and warn about what the converter did not know."""
    tex = node.astext().strip()
    markup = convert(tex, display=display)
    if "\\" in markup or "&</mi>" in markup:
        LOGGER.warning("latex2mathml does not know a command in %r", tex, location=node)
    return markup.replace("<math ", f'<math alttext="{escape(tex)}" ', 1)


def visit_inline(self, node):
    """Write a formula within a line."""
    self.body.append(draw(node, "inline"))
    raise nodes.SkipNode


def visit_block(self, node):
    """Write a formula on a line of its own, which scrolls where it is too wide."""
    self.body.append(f'<div class="math-block">{draw(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app):
    """Make MathML a renderer of formulas."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
