"""YAML files of schemas: what stands in a list of values is the text that stands there."""

from __future__ import annotations

from typing import Any

from .._optional import import_optional

_FLAG, _TEXT = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:str"


def read_yaml(text: str) -> Any:
    """Return what a YAML text declares.

    YAML takes yes, no, on and off for flags. In a list of ``values`` they are text, as in the rows.
    """
    yaml = import_optional("yaml", "cli", "Schema.from_yaml")
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        for values in _lists_of_values(yaml, root):
            for item in values:
                if item.tag == _FLAG and item.value.lower() not in ("true", "false"):
                    item.tag = _TEXT
        return loader.construct_document(root)
    except (yaml.YAMLError, RecursionError) as error:
        found = " ".join(str(error).split()) or "lists within lists without an end"
    finally:
        loader.dispose()
    raise ValueError(f"The schema must be plain YAML, without tags of programs, got: {found}.")


def _lists_of_values(yaml, root):
    """Yield the nodes of every list that stands under the key ``values``."""
    left, known = [root], set()
    while left:
        node = left.pop()
        if id(node) in known or isinstance(node, yaml.ScalarNode):  # an alias may lead in a circle
            continue
        known.add(id(node))
        pairs = (
            node.value if isinstance(node, yaml.MappingNode) else [(None, n) for n in node.value]
        )
        for key, value in pairs:
            if key is not None and key.value == "values" and isinstance(value, yaml.SequenceNode):
                yield value.value
            left.append(value)
