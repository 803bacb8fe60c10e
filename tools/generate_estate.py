"""Lay down the reference estate from one seed: `python -m tools.generate_estate TARGET`.

Run once to make `repo_layout/estate/`, which is edited by hand since, like any estate; kept so that the shape of the
estate (regions, halls, domains, groups, contracts) can be understood and made again. Names come from
`estate_names.txt` beside this file.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tools.generate_history import histories

SEED = 20_260
REGIONS = {"aarhus": "Europe/Copenhagen", "bremen": "Europe/Berlin", "cadiz": "Europe/Madrid"}
HALLS = 4
NAMES = (
    "Anna Bo Carla David Emma Farid Greta Hugo Ines Jonas Kaya Lena Mateo Nadia Olof Petra Quim Rosa Sven Tara",
    "Aagaard Berg Costa Dahl Eriksen Fuchs Garcia Holm Ivanova Jansen Krause Lund Moreno Nielsen Ortega Petersen",
)
GIVEN, FAMILY = (words.split() for words in NAMES)
GUARD = (
    "{window: 10m, releaseShare: 10, releaseCount: 120, acquireCount: 400, replaceCount: 600, "
    "callRate: 20, callBurst: 200}"
)


@dataclass(frozen=True)
class Kind:
    """What the workloads of one kind have in common."""

    tier: str
    sizes: tuple[tuple[int, int], ...]
    maximum: tuple[int, int]
    scheduler: str
    extra: str = ""
    architecture: str = "x86_64"
    gpu_family: str = ""
    gpus: int = 0


CHECKPOINT = (
    "checkpoint: {{mode: {mode}, interval: {interval}, size: {size}, "
    "bucket: {team}-state, key: {name}, startUp: {start}}}"
)
KINDS = {
    "svc": Kind("anchored", ((2, 8), (4, 16)), (24, 64), "kubernetes"),
    "trn": Kind("resumable", ((8, 32), (4, 32)), (24, 80), "slurm"),
    "gpu": Kind("resumable", ((12, 96),), (12, 28), "kubernetes", gpu_family="l40s", gpus=1),
    "big": Kind("resumable", ((192, 2000),), (4, 8), "slurm", gpu_family="h100", gpus=8),
    "pip": Kind("staged", ((4, 16), (2, 8), (8, 32)), (30, 110), "kubernetes"),
    "arm": Kind("staged", ((4, 8), (4, 16)), (24, 64), "kubernetes", architecture="arm64"),
    "ci": Kind("requeued", ((4, 16), (4, 8), (8, 16)), (24, 90), "kubernetes"),
    "sim": Kind("requeued", ((8, 32), (16, 64), (8, 16)), (24, 96), "slurm"),
    "scv": Kind("scavenger", ((2, 8), (1, 4), (4, 16)), (40, 160), "kubernetes"),
}


@dataclass
class Team:
    """One line of the names file, and what its contracts add up to."""

    name: str
    region: str
    weight: int
    workloads: list[tuple[str, str]]
    ncu: int = 0
    spend: int = 0
    tiers: set[str] = field(default_factory=set)


def read_teams(names: Path) -> list[Team]:
    """The teams of the names file, in its order."""
    teams = []
    for line in names.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, region, weight, workloads = (part.strip() for part in line.split("|"))
            pairs = [tuple(item.split(":")) for item in workloads.split()]
            teams.append(Team(name, region, int(weight), [(kind, workload) for kind, workload in pairs]))
    return teams


def contract(team: Team, kind_key: str, name: str, rng: random.Random) -> str:
    """One contract file; adds its size and spending to the team's sums."""
    kind = KINDS[kind_key]
    vcpu, memory = rng.choice(kind.sizes)
    step = 2 if kind_key == "big" else 1
    maximum = rng.randrange(kind.maximum[0], kind.maximum[1] + 1, step)
    ncu = max(vcpu, -(-memory // 4)) + {"": 0, "l40s": 12, "h100": 60}[kind.gpu_family] * kind.gpus
    team.ncu += maximum * ncu
    team.tiers.add(kind.tier)
    lines = [
        "apiVersion: ebbtide/v1",
        "kind: Contract",
        f"name: {name}",
        f"team: {team.name}",
        f"owner: {team.name}-lead",
        f"contact: {team.name}-oncall",
        f"tier: {kind.tier}",
    ]
    if kind.scheduler == "slurm":
        partition = {"": "batch", "h100": "large"}.get(kind.gpu_family, "gpu")
        lines.append(f"runsOn: {{slurm: {{cluster: {team.region}-hpc, partition: {partition}, account: {team.name}}}}}")
    else:
        cluster = f"{team.region}-k8s-{'b' if kind_key in ('ci', 'scv') else 'a'}"
        lines.append(
            f"runsOn: {{kubernetes: {{cluster: {cluster}, namespace: {team.name}, selector: {{workload: {name}}}}}}}"
        )
    gpu = f", gpu: {kind.gpus}" if kind.gpus else ""
    lines += [f"unit: {{vcpu: {vcpu}, memory: {memory}GiB{gpu}}}", f"maximum: {maximum}"]
    lines += eligibility(kind_key, kind, rng)
    lines += promises(team, kind_key, name, maximum, rng)
    return "\n".join(lines) + "\n"


def eligibility(kind_key: str, kind: Kind, rng: random.Random) -> list[str]:
    """The eligibility line, where it is not the default."""
    if kind_key == "big":
        return ["eligibility: {gpuFamily: h100, network: infiniband, gang: {size: 2, within: hall}}"]
    if kind.gpu_family:
        return [f"eligibility: {{gpuFamily: {kind.gpu_family}}}"]
    if kind.architecture != "x86_64":
        return [f"eligibility: {{architecture: {kind.architecture}}}"]
    if kind_key in {"sim", "trn"} and rng.random() < 0.3:
        return ["eligibility: {network: 100g}"]
    return []


def promises(team: Team, kind_key: str, name: str, maximum: int, rng: random.Random) -> list[str]:
    """The promises that differ from the tier's preset."""
    lines = []
    if kind_key == "svc":
        floor = max(2, maximum // rng.choice((6, 8)))
        limit = rng.choice((40, 60, 90))
        team.spend += limit
        lines += [f"floor: {floor}", f"minimum: {floor + max(1, maximum // 8)}"]
        authority = f'authority: {team.name}-lead, limitPerDay: "{limit}.00 EUR", approver: head-of-platform'
        lines.append(f"fallback: {{allowed: true, {authority}}}")
    elif kind_key in {"trn", "gpu", "big"}:
        size = {"trn": "1.5GiB", "gpu": "4GiB", "big": "24GiB"}[kind_key]
        interval = rng.choice(("10m", "15m", "20m"))
        lines.append(
            CHECKPOINT.format(mode="both", interval=interval, size=size, team=team.name, name=name, start="90s")
        )
    elif kind_key in {"pip", "arm"}:
        interval = rng.choice(("15m", "20m", "30m"))
        lines.append(
            CHECKPOINT.format(mode="periodic", interval=interval, size="512MiB", team=team.name, name=name, start="45s")
        )
    if kind_key == "pip" and rng.random() < 0.3:
        hour = rng.choice(("05:30", "06:00", "07:15"))
        lines.append(f'deadline: {{at: "{hour} {REGIONS[team.region]}", work: {maximum * rng.choice((3, 4, 6))}}}')
    if kind_key in {"ci", "sim", "scv"}:
        lines.append(f"expectedRun: {rng.choice(('20m', '40m', '1h', '1h30m'))}")
    return lines


def power_of(region: str, hall: int, letter: str) -> str:
    """The power domain behind one aggregate: two feeds for each pair of halls."""
    pair = "west" if hall <= HALLS // 2 else "east"
    feed = {"a": "a", "b": "b"}.get(letter, "a" if hall % 2 else "b")
    return f"{region}-power-{pair}-{feed}"


def pool_file(
    region: str, hall: int, aggregate: str, hosts: str, attributes: str, rows: list[str], *, tail: str = ""
) -> str:
    """One pool file."""
    alone = {"hpc": "slurm-dynamic", "arm": "kubeadm-join", "l40s": "kubeadm-join"}  # one scheduler's work only
    profile = next((alone[part] for part in aggregate.split("-") if part in alone), "prebaked-image")
    return (
        "apiVersion: ebbtide/v1\n"
        "kind: Pools\n"
        f"region: {region}\n"
        f"hall: {region}-h{hall}\n"
        f"aggregate: {aggregate}\n"
        f"project: ebbtide-{region}\n"
        f"joinProfile: {profile}\n"
        f"hosts: {hosts}\n"
        f"attributes: {attributes}\n" + tail + "rows:\n" + "".join(f"  - {row}\n" for row in rows)
    )


def row(name: str, flavor: str, rate_class: str, instance: str) -> str:
    """One row in flow style."""
    return f"{{name: {name}, flavor: {flavor}, rateClass: {rate_class}, instance: {instance}}}"


def pools_of(region: str, rng: random.Random) -> dict[str, tuple[int, str, str]]:
    """Aggregate -> (hall, power letter, file text) for one region."""
    files: dict[str, tuple[int, str, str]] = {}
    for hall in range(1, HALLS + 1):
        for letter in "abc":
            name = f"{region}-h{hall}-general-{letter}"
            network = "25g" if letter == "c" else "100g"
            hosts = f"{{count: {rng.randrange(18, 31)}, vcpu: 96, memory: 384GiB, localDisk: 3TiB}}"
            rows = [
                row(f"{name}-8x32", "g8x32", "reclaimable", "{vcpu: 8, memory: 32GiB, localDisk: 200GiB}"),
                row(f"{name}-32x128", "g32x128", "reclaimable", "{vcpu: 32, memory: 128GiB, localDisk: 800GiB}"),
            ]
            tail = ""
            if letter == "c":
                tail = f'maintenance:\n  - {{start: "0{hall}:00 {REGIONS[region]}", length: 1h}}\n'
            attributes = f"{{architecture: x86_64, network: {network}}}"
            files[name] = (hall, letter, pool_file(region, hall, name, hosts, attributes, rows, tail=tail))
        for letter in "ab":
            name = f"{region}-h{hall}-arm-{letter}"
            hosts = f"{{count: {rng.randrange(8, 15)}, vcpu: 128, memory: 512GiB}}"
            rows = [row(f"{name}-16x64", "a16x64", "reclaimable", "{vcpu: 16, memory: 64GiB}")]
            attributes = "{architecture: arm64, network: 100g}"
            files[name] = (hall, letter, pool_file(region, hall, name, hosts, attributes, rows))
            name = f"{region}-h{hall}-l40s-{letter}"
            hosts = f"{{count: {rng.randrange(5, 9)}, vcpu: 96, memory: 768GiB, gpu: 8}}"
            rows = [row(f"{name}-2g", "l40s-2", "reclaimable", "{vcpu: 24, memory: 192GiB, gpu: 2}")]
            attributes = "{architecture: x86_64, gpuFamily: l40s, network: 100g}"
            files[name] = (hall, letter, pool_file(region, hall, name, hosts, attributes, rows))
        name = f"{region}-h{hall}-committed"
        hosts = f"{{count: {rng.randrange(9, 13)}, vcpu: 96, memory: 384GiB, localDisk: 3TiB}}"
        rows = [row(f"{name}-8x32", "g8x32", "committed", "{vcpu: 8, memory: 32GiB, localDisk: 200GiB}")]
        attributes = "{architecture: x86_64, network: 100g}"
        files[name] = (hall, "c", pool_file(region, hall, name, hosts, attributes, rows))
    for hall in (1, 3):
        name = f"{region}-h{hall}-arm-committed"
        rows = [row(f"{name}-16x64", "a16x64", "committed", "{vcpu: 16, memory: 64GiB}")]
        text = pool_file(
            region, hall, name, "{count: 4, vcpu: 128, memory: 512GiB}", "{architecture: arm64, network: 100g}", rows
        )
        files[name] = (hall, "c", text)
    if region == "cadiz":
        for hall in range(1, HALLS + 1):
            name = f"{region}-h{hall}-hpc-h100"
            rows = [row(f"{name}-8g", "h100-8", "reclaimable", "{vcpu: 192, memory: 2000GiB, gpu: 8}")]
            attributes = "{architecture: x86_64, gpuFamily: h100, network: infiniband}"
            hosts = "{count: 8, vcpu: 192, memory: 2000GiB, gpu: 8}"
            text = pool_file(region, hall, name, hosts, attributes, rows, tail="checkpointThroughput: 1GiB\n")
            files[name] = (hall, "a" if hall % 2 else "b", text)
    return files


def group_file(region: str, name: str, kind: str, members: list[str], tail: str = "") -> str:
    """One correlation group."""
    head = f"apiVersion: ebbtide/v1\nkind: CorrelationGroup\nregion: {region}\nname: {name}\nfallsWith: {kind}\n"
    return head + tail + "members:\n" + "".join(f"  - {member}\n" for member in sorted(members))


def groups_of(region: str, pools: dict[str, tuple[int, str, str]]) -> dict[str, str]:
    """Group name -> file text: halls, power feeds, storage behind a hall's general aggregates, one learnt group."""
    members: dict[tuple[str, str], list[str]] = {}
    for aggregate, (hall, letter, _) in pools.items():
        members.setdefault((f"{region}-hall-{hall}", "hall"), []).append(aggregate)
        members.setdefault((power_of(region, hall, letter), "power"), []).append(aggregate)
        if "-general-" in aggregate:
            members.setdefault((f"{region}-h{hall}-general", "aggregate"), []).append(aggregate)
    files = {name: group_file(region, name, kind, names) for (name, kind), names in members.items()}
    learnt = f"{region}-observed-1"
    evidence = (
        "bounding: false\n"
        "evidence: {waves: 6, first: 2026-03-02, last: 2026-09-17, note: fell within 3 minutes in six of eight waves}\n"
    )
    files[learnt] = group_file(
        region, learnt, "observed", [f"{region}-h1-general-c", f"{region}-h3-general-c"], evidence
    )
    return files


def settings(teams: list[Team]) -> str:
    """`ebbtide.yaml`."""
    lines = ["apiVersion: ebbtide/v1", "kind: Settings", "estate: three-ports", "currency: EUR", "regions:"]
    for region, zone in REGIONS.items():
        halls = ", ".join(f"{region}-h{hall}" for hall in range(1, HALLS + 1))
        lines += [
            f"  - name: {region}",
            f"    timeZone: {zone}",
            f"    halls: [{halls}]",
            f"    projects: [ebbtide-{region}]",
            "    clusters:",
            f"      - {{name: {region}-k8s-a, scheduler: kubernetes}}",
            f"      - {{name: {region}-k8s-b, scheduler: kubernetes}}",
            f"      - {{name: {region}-hpc, scheduler: slurm}}",
            "    noticeWindow: 120s",
            "    verificationMargin: 5s",
            "    joinTimeout: 10m",
            "    checkpointGateway: 12GiB",
            f"    guard: {GUARD}",
        ]
    lines += [
        "bounds: {pools: 8, poolShare: 15, groupShare: 30, boundingKinds: [aggregate, hall, power]}",
        "movement: {minimumLifetime: 1h, horizon: 4h, perCycleShare: 5}",
        "gpuFactors:",
        "  - {family: l40s, ncu: 12}",
        "  - {family: h100, ncu: 60}",
        "lostHourWeight: 30",
        'storageRatePerGibMonth: "0.018"',
        'footprintPerDay: "46.00 EUR"',
        "teams:",
    ]
    for team in teams:
        tiers = ", ".join(tier for tier in PRESET_ORDER if tier in team.tiers)
        ceiling = max(50, -(-team.spend * 5 // 4 // 10) * 10)
        limit = -(-team.ncu // 100) * 100
        lines.append(
            f"  - {{name: {team.name}, weight: {team.weight}, ncuLimit: {limit}, tiers: [{tiers}], "
            f'spendCeilingPerDay: "{ceiling}.00 EUR"}}'
        )
    return "\n".join(lines) + "\n"


PRESET_ORDER = ("anchored", "resumable", "staged", "requeued", "scavenger")


def directory(teams: list[Team], rng: random.Random) -> str:
    """`directory.yaml`: a lead (a person with authority) and an on-call role for each team, and the approvers."""
    people = [f"{given} {family}" for given in GIVEN for family in FAMILY]
    rng.shuffle(people)
    lines = ["apiVersion: ebbtide/v1", "kind: Directory", "entries:"]

    def entry(key: str, name: str, address: str, kind: str, more: str = "") -> None:
        lines.append(f"  - {{id: {key}, name: {name}, address: {address}, kind: {kind}{more}}}")

    for key, more in (
        ("head-of-platform", ', deputies: [capacity-owner], spendAuthorityPerDay: "2500.00 EUR"'),
        ("capacity-owner", ', spendAuthorityPerDay: "1000.00 EUR"'),
        ("finance-partner", ""),
    ):
        person = people.pop()
        entry(key, person, f"{person.lower().replace(' ', '.')}@three-ports.example", "person", more)
    entry("platform-oncall", "Platform on call", "platform-oncall@three-ports.example", "role")
    for team in teams:
        person = people.pop()
        authority = max(100, -(-team.spend * 3 // 2 // 50) * 50)
        entry(
            f"{team.name}-lead",
            person,
            f"{person.lower().replace(' ', '.')}@three-ports.example",
            "person",
            f', deputies: [{team.name}-oncall], spendAuthorityPerDay: "{authority}.00 EUR", validUntil: 2028-12-31',
        )
        title = team.name.replace("-", " ").capitalize()
        entry(f"{team.name}-oncall", f"{title} on call", f"{team.name}-oncall@three-ports.example", "role")
    return "\n".join(lines) + "\n"


FIXED = {
    "waivers/cadiz/gpu-h100-infiniband.yaml": """apiVersion: ebbtide/v1
kind: Waiver
region: cadiz
class: gpu-h100-infiniband
pools: 4
poolShare: 30
groupShare: 60
reason: Cadiz has one H100 aggregate in each of four halls, on two of its four power feeds.
approver: head-of-platform
expires: 2027-12-31
""",
    "approvals/2026-09-01-foundation-pretrain.yaml": """apiVersion: ebbtide/v1
kind: Approval
subject: foundation-pretrain
statement: Foundation pre-training may use the H100 aggregates under the waiver of Cadiz until the end of 2027.
approver: head-of-platform
requester: language-models-lead
granted: 2026-09-01
expires: 2027-12-31
""",
    "adoptions/bremen/risk-nightly.yaml": """apiVersion: ebbtide/v1
kind: Adoption
region: bremen
name: risk-nightly
pool: bremen-h2-general-a-32x128
workload: xva-nightly
selector: {pool-of: risk-nightly}
""",
}


def code_owners(teams: list[Team]) -> str:
    """CODEOWNERS: a team owns its contracts, the platform owns the rest, money has a second pair of eyes."""
    width = max(len(team.name) for team in teams) + 14
    lines = ["*".ljust(width) + " @three-ports/platform", "/directory.yaml".ljust(width) + " @three-ports/finance"]
    lines.append("/approvals/".ljust(width) + " @three-ports/finance @three-ports/platform")
    lines += [f"/contracts/{team.name}/".ljust(width) + f" @three-ports/{team.name}" for team in teams]
    return "\n".join(lines) + "\n"


def generate(names: Path, seed: int) -> dict[str, str]:
    """Every file of the estate by its path."""
    rng = random.Random(seed)
    teams = read_teams(names)
    files = dict(FIXED)
    for team in teams:
        for kind, workload in team.workloads:
            files[f"contracts/{team.name}/{workload}.yaml"] = contract(team, kind, workload, rng)
    catalogue: dict[str, dict[str, str]] = {}
    for region in REGIONS:
        pools = pools_of(region, rng)
        catalogue[region] = {aggregate: text for aggregate, (_, _, text) in pools.items()}
        files |= {f"pools/{region}/{aggregate}.yaml": text for aggregate, (_, _, text) in pools.items()}
        files |= {f"correlation_groups/{region}/{name}.yaml": text for name, text in groups_of(region, pools).items()}
    files |= histories(catalogue)
    files["ebbtide.yaml"] = settings(teams)
    files["directory.yaml"] = directory(teams, rng)
    files["CODEOWNERS"] = code_owners(teams)
    return files


def main() -> int:
    """Write the estate below the folder named on the command line."""
    target = Path(sys.argv[1])
    for path, text in sorted(generate(Path(__file__).with_name("estate_names.txt"), SEED).items()):
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
