"""Phrases that plain English does without, counted in pages and docstrings: ``make lint`` runs it.

It fails, and lists all hits, if pages or docstrings have more per 1,000 words than they may.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST = {"pages": 1.0, "docstrings": 4.0}  # hits per 1,000 words
PHRASES = {  # each with what to write for it
    r"\b(?:of|about|on|from|to|than|with|in|by|and|for) what (?!if\b)": "the noun",
    r"(?<=[.] )What [a-z]+ (?:is|are|was|has)\b": "the noun",
    r"(?<=[.] )Who(?:ever)? [a-z]+s\b": "anyone who",
    r"\b(?:nobody|everybody|somebody|anybody)\b": "no one, all people, or the actor",
    r"\bpersons\b": "people",
    r"\b(?:same|two|of) laws?\b": "distribution",
    r"\bbeside\b": "next to, besides",
    r"\bfor (?:nothing|free)\b": "at no privacy cost",
    r"\b(?:bought|buys?|pa(?:id|ys?) for)\b": "charged, costs",
    r"\b(?:says?|tells?|told|speaks?|hears?) of\b": "reports, is about",
    r"\b(?:plan|ledger|schema|fit|query|row)s? (?:knows?|tells?|says?|asks?)\b": "reports, counts",
    r"\bin (?:the )?place of\b": "instead of",
    r"\bhand(?:s|ed)? on\b": "pass on, output",
    r"\bthat nobody (?:is|has)\b|\bwho do not exist\b": "simulated, synthetic",
    r"\bReturn (?:what|how|which|where|whether)\b": "a noun",
    r"\bnothing but\b": "only",
    r"\b(?:now and then|by heart|in words of|as long as one likes)\b": "what it means",
    r"\b(?:row|number|unit|fit|level)s? a (?:person|row|day|month|year|step|level|class)\b": "per",
    r"\b(?:is|are) (?:refused|told|asked)\b": "raises, reports",
    r"\bof (?:its|their|your) own\b": "separate, own",
}


def pages():
    """Prose of every page, by path: no code, tables, directives or markup."""
    for path in [ROOT / "README.rst", *sorted((ROOT / "doc").rglob("*.rst"))]:
        if {"auto_examples", "generated", "_build", "templates"}.isdisjoint(path.parts):
            lines = path.read_text().splitlines()
            yield path, "\n".join(line for line in lines if not re.match(r"\s*(>>>|\.\.|:)", line))


def docstrings():
    """All docstrings of the package, by path."""
    for path in sorted((ROOT / "skdp_bary").rglob("*.py")):
        kinds = ast.Module, ast.ClassDef, ast.FunctionDef
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]
        yield path, "\n".join(filter(None, map(ast.get_docstring, nodes)))


def main():
    """Print hits where there are too many of them, and return the exit status."""
    failed = False
    for kind, texts in ("pages", pages()), ("docstrings", docstrings()):
        n_words, hits = 0, []
        for path, text in texts:
            prose = " ".join(re.sub(r"``[^`]*``|:[\w:]+:`[^`]*`", "x", text).split())
            n_words += len(prose.split())
            for phrase, better in PHRASES.items():
                for found in re.findall(phrase, prose):
                    hits.append(f"{path.relative_to(ROOT)}: {found!r}: write {better}")
        rate = 1000 * len(hits) / n_words
        too_many = rate > MOST[kind] or n_words < 10_000
        failed |= too_many
        if too_many:
            print(*hits, sep="\n")
        print(f"{kind}: {rate:.1f} hits per 1,000 words, at most {MOST[kind]}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
