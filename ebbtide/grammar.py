"""Everything that can be typed behind `ebbtide`: commands, options, their help and their exit codes.

`ebbtide.__main__` parses with it, `ebbtide completion` writes shell completion from it, a test holds the documents to
it. Standard library only, and of ours its own parts alone (`grammar_*`): `ebbtide --help` has to be there at once.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from ebbtide import (
    grammar_admission,
    grammar_guard,
    grammar_running,
    grammar_simulation,
    grammar_tooling,
    grammar_trust,
)

VERSION = "0.1.0"
DEFAULT_STATE = ".demo"
WIDTH = 98

EXIT_CODES = """\
exit codes:
  0    done, and nothing to complain about
  1    findings, or refused
  2    could not judge or could not do it; the message says what to do next
  130  interrupted
"""

POLICIES = ("ebbtide", "price-first", "random")
ALL_POLICIES = (*POLICIES, "hindsight")
"""Hindsight knows what will be lost; a replay measures regret against it. A test holds these to the planners' names."""
TERMS = (
    "useful_value", "interruptible_value", "useful_paid", "redone_paid", "restarting_paid", "idle_paid",
    "draining_paid", "reclaimable_paid", "floor_paid", "fallback_paid", "headroom_paid", "storage", "footprint",
)  # fmt: skip
"""The ledger's terms, named here too because the grammar loads nothing; a test holds the two together."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its module is `ebbtide.<name>`, which has `run(args, terminal) -> int`."""

    name: str
    help: str
    story: str
    add: Callable[[argparse.ArgumentParser], None]
    forms: tuple[str, ...] = ("text", "json")


def parser() -> argparse.ArgumentParser:
    """The whole grammar."""
    top = argparse.ArgumentParser(
        prog="ebbtide",
        description="Lends a private cloud's idle headroom to work that can survive losing it, and takes it back.",
        epilog="start here:  ebbtide demo\n\n" + EXIT_CODES,
        formatter_class=_Wide,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"ebbtide {VERSION}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    for command in COMMANDS:
        one = commands.add_parser(
            command.name,
            help=command.help,
            description=textwrap.fill(command.story, WIDTH),
            epilog=EXIT_CODES,
            formatter_class=_Wide,
            allow_abbrev=False,
        )
        command.add(one)
        if command.name not in ("explain", "keys"):  # their kinds have them each
            _always(one, command.forms)
    return top


class _Wide(argparse.RawDescriptionHelpFormatter):
    """Help as wide as every other text of ours, whatever the terminal says: the same everywhere."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)


def _always(to: argparse.ArgumentParser, forms: tuple[str, ...] = ("text", "json")) -> None:
    to.add_argument("--output", choices=forms, default="text", help="how to write the result")
    to.add_argument("--progress", action="store_true", help="tell progress on stderr although it is no terminal")


def _validate(to: argparse.ArgumentParser) -> None:
    to.add_argument("where", nargs="?", default=".", metavar="PATH_OR_URL", help="repository or folder (default: .)")
    which = to.add_mutually_exclusive_group()
    which.add_argument("--commit", metavar="REV", help="the commit to read (default: HEAD of a repository)")
    which.add_argument("--worktree", action="store_true", help="the files as they lie on disk, committed or not")
    which.add_argument("--staged", action="store_true", help="the files as the next commit would have them")
    to.add_argument("--base", metavar="REV", help="judge what changed since REV: others' files only warn")


def _init(to: argparse.ArgumentParser) -> None:
    to.add_argument("folder", metavar="DIR", help="a folder that is not there yet, or is empty")
    to.add_argument("--estate", metavar="NAME", help="the estate's name (default: the folder's)")
    to.add_argument("--region", metavar="NAME", default="north", help="its one region (default: %(default)s)")
    to.add_argument("--team", metavar="NAME", default="first-team", help="its first team (default: %(default)s)")
    hosts = ("github", "gitlab", "none")
    to.add_argument("--host", choices=hosts, default="github", help="whose CI workflow (default: %(default)s)")
    to.add_argument("--no-git", dest="git", action="store_false", help="the files alone, no repository and no commit")
    to.add_argument("--dry-run", action="store_true", help="list the files and write nothing")


def _diff(to: argparse.ArgumentParser) -> None:
    to.add_argument("base", metavar="BASE", help="a revision such as origin/main; or a folder, as ./old")
    to.add_argument("head", nargs="?", metavar="HEAD", help="a revision (default: HEAD); or a folder, as ./new")
    to.add_argument("--in", dest="where", metavar="PATH_OR_URL", help="the repository (default: .)")
    to.add_argument("--worktree", action="store_true", help="compare the files on disk, committed or not")
    to.add_argument("--exact", action="store_true", help="the two commits as they are, wherever their lines parted")


def _compile(to: argparse.ArgumentParser) -> None:
    to.add_argument("where", nargs="?", default=".", metavar="PATH_OR_URL", help="repository (default: .)")
    to.add_argument("--commit", metavar="REV", help="the commit to compile (default: HEAD)")
    to.add_argument("--base", metavar="REV", help="judge what changed since REV: others' files only warn")
    which = to.add_mutually_exclusive_group(required=True)
    which.add_argument("--region", metavar="R", help="one region, its files straight into DIR")
    which.add_argument("--all", action="store_true", help="every region, each into a folder of its own below DIR")
    to.add_argument("--out", metavar="DIR", required=True, help="a folder that is new, empty or was compiled before")


def _estate(to: argparse.ArgumentParser) -> None:
    which = to.add_mutually_exclusive_group()
    which.add_argument(
        "--estate", metavar="PATH", help="repository or folder (default: the one you are in, else the reference estate)"
    )
    which.add_argument("--bundle", metavar="DIR|REPO", help="a signed folder, or a repository with published bundles")
    grammar_trust.taken(to)
    to.add_argument("--region", metavar="R", default="aarhus", help="one region of the estate (default: %(default)s)")
    _day(to)


def _day(to: argparse.ArgumentParser) -> None:
    to.add_argument("--seed", type=_seed, default=7, metavar="N", help="what the day is drawn from (default: 7)")
    losses = to.add_mutually_exclusive_group()
    losses.add_argument("--trace", metavar="NAME", help="the recorded trace that takes capacity back; see traces")
    losses.add_argument("--model", action="store_true", help="the region model although EBBTIDE_TRACES is set")


def _state(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--state", metavar="DIR", default=DEFAULT_STATE, help="what demo or run left (default: %(default)s)"
    )


def _moment(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--at", metavar="HH:MM[:SS]", type=_time_of_day, help="UTC time of the day (default: within its largest wave)"
    )


def _plan(to: argparse.ArgumentParser) -> None:
    _estate(to)
    grammar_running.partition(to)
    _moment(to)
    to.add_argument("--empty", action="store_true", help="first contact: the plan for a region without an instance")


def _run(to: argparse.ArgumentParser) -> None:
    _estate(to)
    grammar_running.partition(to)
    _moment(to)
    how = to.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="one cycle, carried out and recorded")
    how.add_argument("--dry-run", action="store_true", help="one cycle, decided and shown, nothing touched")
    how.add_argument("--hours", type=_hours, metavar="H", help="so many hours of the day, cycle after cycle")
    to.add_argument("--state", metavar="DIR", default=".run", help="where to leave the ledger (default: %(default)s)")
    grammar_running.live(to)


def _sandbox(to: argparse.ArgumentParser) -> None:
    _estate(to)
    grammar_running.sandbox(to)


def _explain(to: argparse.ArgumentParser) -> None:
    kinds = to.add_subparsers(dest="kind", metavar="KIND", title="what to explain", required=True)
    for kind, name, told in (
        ("workload", "NAME", "its contract, every pool it may use with every term of the ranking, where it stands"),
        ("pool", "NAME", "its rate, hazard, exclusions and losses, and who stands there"),
        ("drain", "INSTANCE", "what the node saw and did, step by step, between the notice and its end"),
        ("action", "ID|INSTANCE", "the chain of causes from its root to the money"),
    ):
        one = kinds.add_parser(
            kind,
            help=told,
            description=textwrap.fill(f"Shows {told}.", WIDTH),
            epilog=EXIT_CODES,
            formatter_class=_Wide,
            allow_abbrev=False,
        )
        one.add_argument("name", metavar=name)
        _state(one)
        if kind == "action":
            one.add_argument("--tree", action="store_true", help="every event of the chain, each below its cause")
        _always(one)
    grammar_tooling.explain_contract(kinds, EXIT_CODES, _Wide, _always)


def _keys(to: argparse.ArgumentParser) -> None:
    kinds = to.add_subparsers(dest="kind", metavar="KIND", title="what to do", required=True)
    for kind, told, add in grammar_trust.KEYS:
        one = kinds.add_parser(
            kind,
            help=told,
            description=textwrap.fill(f"{told[0].upper()}{told[1:]}.", WIDTH),
            epilog=EXIT_CODES,
            formatter_class=_Wide,
            allow_abbrev=False,
        )
        add(one)
        _always(one)


def _savings(to: argparse.ArgumentParser) -> None:
    _state(to)
    to.add_argument("--workload", metavar="W", help="one workload alone")
    to.add_argument("--tier", action="store_true", help="sums by tier instead of by workload")
    to.add_argument("--policy", choices=POLICIES[:2], default="ebbtide", help="whose day (default: %(default)s)")
    to.add_argument("--behind", metavar="TERM", choices=TERMS, help="the ids of the events behind one number")


def _replay(to: argparse.ArgumentParser) -> None:
    to.add_argument("trace", metavar="TRACE", help="a name that traces lists, or a path")
    told = f"planners, of {', '.join(ALL_POLICIES)} (default: the first three)"
    to.add_argument("--policy", type=_policies, default=POLICIES, metavar="P,Q", help=told)
    to.add_argument("--seeds", type=_positive, default=3, metavar="N", help="how many seeds (default: 3)")
    to.add_argument("--days", type=_positive, default=90, metavar="N", help="days to learn, and to score (default: 90)")


def _traces(to: argparse.ArgumentParser) -> None:
    to.add_argument("folder", nargs="?", metavar="FOLDER", help="where to look (default: EBBTIDE_TRACES)")


def _demo(to: argparse.ArgumentParser) -> None:
    to.add_argument(
        "--state", metavar="DIR", default=DEFAULT_STATE, help="where to leave everything (default: %(default)s)"
    )
    to.add_argument("--region", metavar="R", default="aarhus", help="aarhus, bremen or cadiz (default: %(default)s)")
    _day(to)
    to.add_argument("--hours", type=_hours, default=24.0, metavar="H", help="hours of the day (default: 24)")


def _completion(to: argparse.ArgumentParser) -> None:
    to.add_argument("shell", choices=("bash", "zsh", "fish"))


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 7")
    return int(text)


def _positive(text: str) -> int:
    number = _seed(text)
    if not number:
        raise argparse.ArgumentTypeError("0 is too few")
    return number


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= 24:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours above 0, at most 24")
    return hours


def _time_of_day(text: str) -> int:
    """Milliseconds since midnight."""
    parts = text.split(":")
    if len(parts) in (2, 3) and all(part.isdecimal() and len(part) == 2 for part in parts):
        hour, minute, second = (*map(int, parts), 0)[:3]
        if hour < 24 and minute < 60 and second < 60:
            return ((hour * 60 + minute) * 60 + second) * 1000
    raise argparse.ArgumentTypeError(f"{text!r} is not a time of day such as 10:45 or 10:45:30")


def _policies(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    if not names or any(name not in ALL_POLICIES for name in names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list such as {','.join(ALL_POLICIES)}")
    return names


COMMANDS = (
    Command("demo", "a day of one region through a reclaim wave: a screen and a report",
            "The main job: lays the reference estate into a Git repository of its own, checks it, lets a day of one "
            "region pass under Ebbtide and under a planner that looks at the price alone, and shows what came of it.",
            _demo),
    Command("validate", "check the reviewed files of an estate",
            "Checks every reviewed file: form and schema first, then what the platform could not honour. A commit is "
            "read from Git without a work tree; a plain folder as it lies on disk.", _validate,
            ("text", "json", "sarif", "github", "gitlab")),
    Command("diff", "what a change of the estate does, and who must approve it",
            "Compares two commits by what they do: floors, money, pools that workloads gain and lose, contracts that "
            "stop being feasible, bounds that become tight, and who has to approve. A pull request is compared with "
            "the commit at which it parted from BASE.", _diff, ("text", "json", "markdown")),
    Command("init", "lay down a small estate of one's own",
            "Lays a small estate into a new folder: one region, eight aggregates in four halls to lend from, contracts "
            "of two typical kinds, owners, CI; a Git repository whose first commit is yours. Writes over nothing.",
            _init),
    Command("compile", "make the payloads of a commit that CI signs",
            "Checks a commit and writes what a region's reconciler and each workload's nodes are given of it, as bytes "
            "that are the same on any machine. Writes the whole folder or, where the estate is refused, nothing.",
            _compile),
    Command("fmt", "lay the reviewed files out in one way, comments kept",
            "Writes reviewed files in one layout: the order of the format's fields, values as people write them, short "
            "mappings in one line, comments where they stand. What a file says never changes; one that cannot be read "
            "is left alone with its finding.", grammar_tooling.fmt),
    Command("schema", "JSON Schemas of the reviewed files, for completion and hover in editors",
            "Writes the JSON Schema of each kind of reviewed file, from the models that check them: names, types, "
            "patterns, examples and what every field means. A YAML language server completes and explains with it.",
            grammar_tooling.schema),
    Command("admission", "what a scheduler cluster applies so that only contracts enter",
            "Verifies a signed region bundle and renders from it what one cluster applies: policies for Kubernetes' "
            "API server and for Kyverno with their table of contracts, or Slurm's job_submit script with its own.",
            grammar_admission.admission),
    Command("plan", "what would change now and why; touches nothing",
            "Lets the simulated region stand at one moment of the day and shows the next cycle like a diff: what "
            "would be acquired, replaced and released, why, and what the guard holds back. Touches nothing.",
            _plan),
    Command("run", "run the reconciler: through a simulated day, or against a sandbox",
            "Lets hours of a simulated day pass and leaves their ledger in a state directory; or, with --provider, "
            "runs against a sandbox until it is told to end, and goes on from its state directory whatever ended it "
            "(docs/running.md).", _run),
    Command("sandbox", "a simulated region behind a socket, for ebbtide run --provider",
            "Hosts one simulated region as a process of its own: its cloud, schedulers, nodes and work, with the clock "
            "that they share. Reconcilers reach it through the socket; SOCKET.account tells every effect they had.",
            _sandbox),
    Command("stop", "hold everything until somebody resumes; works with all else down",
            "Stops every action of the region's reconciler before its next one, for a reason, until --resume. It needs "
            "no network, no Git and no running reconciler, survives restarts, and only takes actions away: nodes drain "
            "as ever. --accept-listing answers the one alert about servers that are missing unexplained.",
            grammar_guard.stop),
    Command("reservations", "the money reserved for fallback today; opens a day that is closed",
            "Shows what is reserved by authority and by workload, and whether the day is closed: on a new estate's "
            "first day, or when the store was lost, nobody knows, and no fallback is bought. --open-day says that "
            "what is shown is all; the ledger tells who said so.", grammar_guard.reservations),
    Command("approve", "consent to a large removal while no file can be merged",
            "Signs a person's consent to what one commit takes away from a region, with the key that the directory has "
            "for that person. With the code host up, add a file to approvals/ instead (docs/guard.md).",
            grammar_guard.approve),
    Command("explain", "why a workload, pool, drain, action or contract is as it is",
            "Answers why, from what demo or run left, and of a contract from its estate alone: each answer names its "
            "files, events and numbers.", _explain),
    Command("savings", "what was saved after every cost, down to the events",
            "The net saving with every term, held against the provider's invoice, and what was paid for nothing.",
            _savings),
    Command("replay", "planners side by side on recorded reclamations",
            "Scores planners on a recorded trace: wasted work, concentration, shortfalls and net saving.", _replay),
    Command("simulate", "look for a history with faults in which a promise breaks",
            "Lets days of a region pass with everything going wrong that a seed draws, and holds every promise against "
            "what really happened. A failing seed is repeated by one command, made small, and told as a story.",
            grammar_simulation.simulate),
    Command("traces", "public sources of recorded reclamations, and those at hand",
            "Lists where recorded traces come from, their traps, and what lies in the folder of EBBTIDE_TRACES.",
            _traces),
    Command("keys", "the keys that sign an estate's bundles: make, rotate, show",
            "Makes and rotates the keys that sign bundles. A key set is a file: version N + 1 is signed by keys of N, "
            "so whoever holds N follows offline (docs/trust.md).", _keys),
    Command("sign", "sign what ebbtide compile wrote",
            "Writes one Sigstore bundle beside every payload of a compiled folder, and the node bundles of at most 8 "
            "KiB. CI runs it after a merge; another signer joins with --join.", grammar_trust.sign),
    Command("publish", "push a signed folder to refs/ebbtide/bundles/REGION",
            "Writes the signed folder as one commit on the region's ref, on top of what is there. Two runs at once "
            "cannot both succeed, and nothing published is lost.", grammar_trust.publish),
    Command("verify", "whether signed bundles hold, offline",
            "Verifies a signed folder, the newest published version of a repository, or one bundle, with the key set "
            "alone and no network: who signed which version for whom, and from when to when it holds.",
            grammar_trust.verify),
    Command("completion", "a script that completes ebbtide's commands in a shell",
            "Writes a script that completes commands and options. In this shell:  source <(ebbtide completion bash)",
            _completion),
)  # fmt: skip
