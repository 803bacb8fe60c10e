"""`ebbtide completion`: shell completion written from the grammar itself, so that it can never lag behind it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from ebbtide.grammar import parser
from ebbtide.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Word:
    """What may follow a line: an option or a word, with its help."""

    text: str
    help: str


@dataclass(frozen=True, slots=True)
class Spot:
    """A command line so far (without `ebbtide`), its next words, and the values of its options that have a choice."""

    path: tuple[str, ...]
    words: tuple[Word, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...]


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Always 0."""
    spots = tuple(spots_of(parser(), ()))
    script = {"bash": bash, "zsh": zsh, "fish": fish}[args.shell](spots)
    if terminal.as_json:
        terminal.document({"shell": args.shell, "script": "\n".join(script) + "\n"})
    else:
        terminal.lines(script)
    return 0


def spots_of(grammar: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Spot]:
    """Every command of a grammar and everything below it."""
    words: list[Word] = []
    choices: list[tuple[str, tuple[str, ...]]] = []
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in grammar._actions:  # noqa: SLF001 - argparse has no other way to list what it knows
        told = (action.help or "").replace("%(default)s", str(action.default))
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - the same
            words += [Word(name, helps.get(name, "")) for name in action.choices]
            below += list(action.choices.items())
        elif action.option_strings:
            long = action.option_strings[-1]
            words.append(Word(long, told))
            if action.choices:
                choices.append((long, tuple(map(str, action.choices))))
        elif action.choices:
            words += [Word(str(choice), "") for choice in action.choices]
    yield Spot(path, tuple(words), tuple(choices))
    for name, inner in below:
        yield from spots_of(inner, (*path, name))


def bash(spots: tuple[Spot, ...]) -> list[str]:
    """A function for `complete -F`; names of files where nothing else fits."""
    lines = [
        "# Completion of ebbtide for bash.",
        "_ebbtide() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" path="" at',
        '  for at in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        '    case "$path $at" in',
        *(f'      "{_joined(spot.path[:-1])} {spot.path[-1]}") path="{_joined(spot.path)}" ;;' for spot in spots[1:]),
        "    esac",
        "  done",
        '  case "$path:$before" in',
    ]
    for spot in spots:
        lines += [
            f'    "{_joined(spot.path)}:{option}") COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$word")); return ;;'
            for option, values in spot.choices
        ]
    lines += ["  esac", '  case "$path" in']
    for spot in spots:
        words = " ".join(word.text for word in spot.words)
        lines.append(f'    "{_joined(spot.path)}") COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;')
    return [*lines, "  esac", "}", "complete -o default -F _ebbtide ebbtide"]


def _joined(path: tuple[str, ...]) -> str:
    return " ".join(path)


def zsh(spots: tuple[Spot, ...]) -> list[str]:
    """The bash function, through zsh's own bridge."""
    return [
        "#compdef ebbtide",
        "autoload -U +X bashcompinit && bashcompinit",
        *bash(spots),
    ]


def fish(spots: tuple[Spot, ...]) -> list[str]:
    """One `complete` line for each word."""
    lines = ["# Completion of ebbtide for fish."]
    for spot in spots:
        after = " ".join(f"; and __fish_seen_subcommand_from {name}" for name in spot.path).removeprefix("; and ")
        inner = [word.text for word in spot.words if not word.text.startswith("-")]
        unless = f"; and not __fish_seen_subcommand_from {' '.join(inner)}" if inner else ""
        condition = (after or "true") + unless if spot.path else "__fish_use_subcommand"
        for word in spot.words:
            told = word.help.replace("'", "\\'")
            kind = f"-l {word.text[2:]}" if word.text.startswith("--") else f"-a {word.text}"
            values = dict(spot.choices).get(word.text, ())
            takes = f" -x -a '{' '.join(values)}'" if values else ""
            lines.append(f"complete -c ebbtide -n '{condition}' {kind}{takes} -d '{told}'")
    return lines
