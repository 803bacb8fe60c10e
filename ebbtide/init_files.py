"""The files of a small estate of one's own: one region, four halls, eight aggregates to lend from, a contract of each
typical kind. Pure but for the package's data; `ebbtide init` writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from string import Template

from contracts.values import BadValue, parse_name
from repo_layout.canonical_text import formatted
from repo_layout.layout import Located, locate

HALLS = ("1", "2", "3", "4")
LETTERS = ("a", "b")
LONGEST = "{region}-h1-general-a-4x16"  # of the names that are made of a region's
CI = {
    "github": {
        ".github/workflows/ebbtide.yml": "ebbtide.yml",
        ".github/ebbtide-comment.py": "comment",
    },
    "gitlab": {
        ".gitlab-ci.yml": "ebbtide.gitlab-ci.yml",
        ".gitlab/ebbtide-comment.py": "comment",
    },
    "none": {},
}
"""What lies where for each code host: the templates of `deploy/ci`, as they are."""
INVENTED = ("enrolment", "kubernetes", "slurm")


@dataclass(frozen=True, slots=True)
class Names:
    """What the estate, its one region and its first team are called."""

    estate: str
    region: str
    team: str

    def fault(self) -> str:
        """What is wrong with them, in words; empty when nothing is."""
        made = {"region": LONGEST.format(region=self.region), "team": f"{self.team}-oncall"}
        for what, name in (("estate", self.estate), ("region", self.region), ("team", self.team)):
            for one in (name, made.get(what, name)):
                try:
                    parse_name(one)
                except BadValue as error:
                    return f"--{what} {name!r} makes no name: {one!r} is not {error.expected}"
        return ""


def files_of(names: Names, host: str) -> dict[str, bytes]:
    """Every file by its path, sorted; `host` is a key of `CI`."""
    region = names.region
    values = {"estate": names.estate, "region": region, "team": names.team}
    laid = {
        "ebbtide.yaml": _filled("ebbtide.yaml", values),
        "directory.yaml": _filled("directory.yaml", values),
        "CODEOWNERS": _filled("CODEOWNERS", values),
        ".gitignore": _read("init", "gitignore"),
        ".pre-commit-config.yaml": _read("init", "pre-commit-config.yaml"),
        "README.md": _filled("README.md", values | {"ci_step": _read("init", f"ci_{host}.md").rstrip()}),
        f"contracts/{names.team}/example-service.yaml": _filled("service.yaml", values),
        f"contracts/{names.team}/example-job.yaml": _filled("job.yaml", values),
        f"pools/{region}/{region}-h1-committed.yaml": _filled("committed.yaml", values),
    }
    invented = {what: sha256(f"{what} of {region}".encode()).hexdigest() for what in INVENTED}
    laid["join_profiles/plain-image.yaml"] = _filled("join.yaml", values | invented)
    for hall in HALLS:
        members = [f"{region}-h{hall}-general-{letter}" for letter in LETTERS]
        for letter, aggregate in zip(LETTERS, members, strict=True):
            text = _filled("pool.yaml", values | {"hall": hall, "letter": letter})
            laid[f"pools/{region}/{aggregate}.yaml"] = text
        if hall == HALLS[0]:
            members.append(f"{region}-h1-committed")
        text = _filled("group.yaml", values | {"hall": hall, "members": ", ".join(members)})
        laid[f"correlation_groups/{region}/{region}-hall-{hall}.yaml"] = text
    for path, name in CI[host].items():
        laid[path] = _read("ci", name)
    return {path: _laid_out(path, laid[path].encode()) for path in sorted(laid)}


def _laid_out(path: str, content: bytes) -> bytes:
    """A reviewed file as `ebbtide fmt` lays it out, which depends on how long the names are; any other as it is."""
    text = formatted(path, content).text if isinstance(locate(path), Located) else None
    return content if text is None else text.encode()


def _filled(name: str, values: dict[str, str]) -> str:
    return Template(_read("init", name)).substitute(values)


def _read(folder: str, name: str) -> str:
    return files("ebbtide").joinpath("data", folder, name).read_text(encoding="utf-8")
