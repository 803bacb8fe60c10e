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

SCHEMA = {
    "EBT-118": "a file holds the fields of its format only",
    "EBT-119": "a field that has to be there is there",
    "EBT-120": "a value is one that its field takes",
    "EBT-122": "apiVersion is a format that this version reads",
    "EBT-123": "kind is the kind of the file's folder",
    "EBT-124": "a file holds fields",
    "EBT-125": "the estate has its settings and its directory",
    "EBT-126": "the fields stand at the root of the file",
}

ONE_FILE = {
    "EBT-150": "the floor is at most the maximum",
    "EBT-151": "the minimum is at least the floor",
    "EBT-152": "the minimum is at most the maximum",
    "EBT-153": "work that can never restart stands on the floor only",
    "EBT-154": "a contract runs on exactly one scheduler",
    "EBT-155": "a periodic checkpoint has an interval",
    "EBT-156": "a drain by command has a command, and no other has one",
    "EBT-157": "a checkpoint on notice has a size",
    "EBT-158": "fallback is allowed with an authority and a limit only",
    "EBT-159": "a deadline is a time of day or a duration, and work has one",
    "EBT-160": "the approver beyond an authority is somebody else",
    "EBT-161": "a gang is at most the maximum",
    "EBT-162": "an approval expires after it was granted",
    "EBT-163": "nobody approves what they ask for",
    "EBT-164": "one pool may hold at most what a group may hold",
    "EBT-165": "a pause names what it pauses, and the estate has no name",
    "EBT-166": "an observed group has evidence",
    "EBT-167": "an adoption names servers or a selector",
    "EBT-168": "a history ends after it began",
    "EBT-169": "a history's reclaims took instances, and those stood somewhere",
    "EBT-170": "each cluster of a divided region is in one partition, and each partition has a name of its own",
    "EBT-171": "the partitions of a region have at most all of it together",
    "EBT-172": "a partition's share leaves something of every limit",
}

FEASIBILITY = {
    "EBT-201": "the drain fits the notice of enough pools",
    "EBT-202": "the bounds on pools and groups can be kept at every count",
    "EBT-203": "the floors of a region fit its committed capacity",
    "EBT-204": "owners, contacts, approvers and authorities are known, and limits are within authority",
    "EBT-205": "a team is known and may use the tier",
    "EBT-206": "every name that a file uses is declared",
    "EBT-207": "an on-notice checkpoint fits the drain budget at the throughput that the instance is sure of",
    "EBT-208": "a bounding kind of group has at least four groups in a region",
    "EBT-209": "some pool holds a unit of the contract",
    "EBT-210": "an instance fits a host of its aggregate",
    "EBT-211": "work that restarts from a checkpoint takes one",
    "EBT-212": "all money is in the estate's currency",
    "EBT-213": "a waiver is needed (warning)",
    "EBT-214": "a GPU family has an NCU factor",
    "EBT-215": "the on-notice checkpoints of a whole group fit the gateway of the region",
    "EBT-216": "the contracts of a team are within its limits together",
    "EBT-217": "what one person answers for is within that person's authority together",
    "EBT-218": "a deadline leaves time for the work at the tolerated rate of interruptions",
    "EBT-219": "a tolerance is not below what the eligible pools were observed to do",
    "EBT-220": "the most that a workload under a waiver can lose at once (note)",
    "EBT-221": "waivers, approvals and people were valid when the commit was made",
    "EBT-222": "a waiver, an approval or a person that expires soon after the commit (note)",
    "EBT-223": "a lent capacity domain is in the group of its hall, and in one bounding group of a kind",
    "EBT-224": "gangs come whole: a floor is whole gangs, and some pool holds one",
    "EBT-225": "a unit with GPUs names their family, and a family is named for units with GPUs",
    "EBT-226": "the floors and spending limits of a partition fit its share",
    "EBT-230": "a pool names a join profile that is declared",
    "EBT-231": "a join profile joins every cluster whose work may stand on its pools",
    "EBT-232": "a join template has the placeholders that it needs and no other",
    "EBT-233": "user data holds no private key",
    "EBT-234": "user data holds nothing that lets a machine into a cluster",
    "EBT-235": "user data holds no password",
    "EBT-236": "user data holds no key of a cloud, a code host or an API",
    "EBT-237": "user data fits its pool with the largest node bundle",
    "EBT-238": "a node payload is at most 3 KiB, so that its signatures fit the node bundle",
    "EBT-239": "user data is cloud-config or a script",
}

SCHEMA_CHECKER = {
    "EBT-310": "the cue binary is there",
    "EBT-311": "the schema checker ends in time and by itself",
    "EBT-312": "the schema checker saw every file",
    "EBT-313": "the schema checker is shown the first 1000 files that their models refuse (note)",
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


RULES = joined(FORM, SCHEMA, LAYOUT, ONE_FILE, FEASIBILITY, READING, SCHEMA_CHECKER)
