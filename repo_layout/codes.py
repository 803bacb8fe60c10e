"""The table of finding codes: which rule each one names, in one line.

Every check looks its code up here and the README lists the table. Each module that finds something has its own dict;
`RULES` joins them and refuses a code that two of them claim. It must not know how a rule is checked.
"""

from __future__ import annotations

FORM = {
    "EBT-101": "a file is at most 64 KiB",
    "EBT-102": "a file is UTF-8 text",
    "EBT-103": "a file starts without a byte order mark",
    "EBT-104": "lines end in LF",
    "EBT-105": "indentation is spaces",
    "EBT-106": "a file holds no invisible, control or look-alike white-space characters",
    "EBT-107": "a file is well-formed YAML",
    "EBT-108": "a file holds exactly one document, a mapping at its root",
    "EBT-109": "collections nest at most 20 deep",
    "EBT-110": "a file holds at most 4096 keys and items",
    "EBT-111": "keys are text",
    "EBT-112": "a key stands once in its mapping",
    "EBT-113": "no anchors and aliases: every value is written out",
    "EBT-114": "no merge keys",
    "EBT-115": "no tags and directives",
    "EBT-116": "a value means the same to every reader: ambiguous plain scalars are quoted or written properly",
    "EBT-117": "a key that is there has a value: no null, no empty value",
}

LAYOUT = {
    "EBT-130": "a file lies in the folder of its kind",
    "EBT-131": "the repository holds files of known kinds only",
    "EBT-132": "a file's extension is .yaml",
    "EBT-133": "folders and files carry plain names",
    "EBT-134": "what a file says inside agrees with its path",
    "EBT-135": "a name stands once among its kind",
    "EBT-136": "no symbolic links",
    "EBT-137": "no submodules or nested repositories",
    "EBT-138": "reviewed files are not executable",
    "EBT-139": "paths are UTF-8",
    "EBT-140": "the repository holds regular files only",
    "EBT-141": "folders nest at most 8 deep, with at most 20000 files in all",
}

READING = {
    "EBT-301": "a file's content is in this partial clone",
    "EBT-302": "a file's content is in this repository",
    "EBT-303": "a file of the work tree can be read",
}


def joined(*tables: dict[str, str]) -> dict[str, str]:
    """All tables in one, sorted by code; a code in two tables is a `ValueError`."""
    rules: dict[str, str] = {}
    for table in tables:
        if twice := rules.keys() & table.keys():
            raise ValueError(f"codes given twice: {sorted(twice)}")
        rules |= table
    return dict(sorted(rules.items()))


RULES = joined(FORM, LAYOUT, READING)
