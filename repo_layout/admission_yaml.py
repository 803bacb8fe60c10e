"""Documents of Kubernetes as text that a person can read: keys in the order given, expressions as blocks.

Called by the renderings of admission. The same documents give the same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import yaml

Document = Mapping[str, object]
WIDTH = 10_000  # no line is folded: an expression stays as it is tested


class _Blocks(yaml.SafeDumper):
    """Texts of several lines as literal blocks, and no anchors."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Blocks.add_representer(str, _text)


def written(about: str, documents: Iterable[Document]) -> str:
    """One file: a comment of one line, then the documents."""
    texts = (yaml.dump(one, Dumper=_Blocks, sort_keys=False, width=WIDTH, allow_unicode=True) for one in documents)
    return f"# {about}\n" + "".join(f"---\n{text}" for text in texts)
