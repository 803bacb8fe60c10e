"""Joining: what a template is filled with, what user data may not hold, and how large it may be."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from functools import cache

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.bundle import MAX_NODE_BUNDLE, write_node_bundle
from contracts.errors import Refused
from contracts.findings import Finding
from pools.ownership import check_create
from pools.provider import CreateRequest, Mark
from repo_layout import admission
from repo_layout.feasibility import check
from repo_layout.joins import served, sizes
from repo_layout.model import Estate
from repo_layout.payload import node_payloads
from repo_layout.secret_patterns import PATTERNS, secrets_in
from repo_layout.user_data import NEEDED, PLACEHOLDERS, Size, filled, joining, placeholders, user_data
from tests.checks.estates import ROOT, changed, files_of, judged, minimal

PROFILE = "join_profiles/kubeadm-join.yaml"
GENERAL = "pools/north/h1-general-a.yaml"


@cache
def estate() -> Estate:
    found = judged(minimal()).estate
    assert found is not None
    return found


def bundle_of(workload: str, size: int = 900) -> bytes:
    return write_node_bundle(node_payloads(estate(), "north")[workload], [json.dumps({"sig": "x" * size}).encode()])


def rendered(workload: str, *, pool: str = "h1-general-a-4x16", **given: str) -> bytes:
    whole = estate()
    facts = {"instance": "eb-north-1-000001", "token": "f" * 64, **given}
    return user_data(
        whole,
        whole.pool_by_name[pool],
        whole.contract_by_name[workload],
        node_bundle=bundle_of(workload),
        instance=facts["instance"],
        token=facts["token"],
    )


# ----------------------------------------------------------------------------------------------------------- filling in


@pytest.mark.parametrize("workload", ["forecast", "hindcast"])
def test_user_data_is_cloud_config_that_carries_the_bundle_to_the_byte(workload: str) -> None:
    raw = rendered(workload)
    assert raw.startswith(b"#cloud-config\n")
    files = {file["path"]: file["content"] for file in yaml.safe_load(raw)["write_files"]}
    assert files["/etc/ebbtide/node.bundle.json"].rstrip("\n").encode() == bundle_of(workload)
    assert files["/etc/ebbtide/enrolment-token"] == "f" * 64


def test_a_node_registers_with_the_taint_and_the_label_that_admission_asks_for() -> None:
    text = rendered("forecast").decode()
    assert f"--register-with-taints={admission.TAINT_KEY}=forecast:NoSchedule" in text
    assert f"--node-labels={admission.WORKLOAD_LABEL}=forecast" in text
    assert "Feature=ebbtide_hindcast,ebbtide_partition_batch" in rendered("hindcast").decode()


def test_a_provider_takes_what_is_rendered() -> None:
    whole = estate()
    mark = Mark("minimal", "north", "eb-north-1-000001", 1, "forecast", 1, "reclaimable")
    request = CreateRequest("h1-general-a-4x16", "ebbtide-north", mark, rendered("forecast"))
    pool = check_create(request, estate="minimal", region="north", projects={"ebbtide-north"}, pools=whole.pool_by_name)
    assert pool.name == "h1-general-a-4x16"


@pytest.mark.parametrize("given", [{"instance": "a\nb"}, {"instance": ""}, {"token": 'x"'}, {"token": "f" * 65}])
def test_nothing_that_could_be_read_as_more_is_filled_in(given: dict[str, str]) -> None:
    with pytest.raises(Refused):
        rendered("forecast", **given)


@given(st.text(st.sampled_from("@ABZ_a1\n"), max_size=40))
def test_what_is_filled_in_is_not_filled_in_again(text: str) -> None:
    facts = dict.fromkeys(placeholders(text), "@NODE_BUNDLE@")
    kept = filled(text, facts)
    assert kept.count("@NODE_BUNDLE@") >= len(placeholders(text))


def test_a_placeholder_that_there_is_not_is_never_left_standing() -> None:
    with pytest.raises(Refused, match="@TIDE@"):
        filled("a @TIDE@ b", {"NODE_BUNDLE": "x"})


def test_every_placeholder_that_a_template_needs_is_one_and_stands_in_the_documents() -> None:
    text = (ROOT / "docs" / "join.md").read_text(encoding="utf-8")
    assert [name for name in PLACEHOLDERS if f"`@{name}@`" not in text] == []
    assert all(names <= PLACEHOLDERS.keys() for names in NEEDED.values())


# ---------------------------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("raw", "encoded", "fits"),
    [(49_192, 65_592, False), (49_149, 65_532, True), (49_150, 65_536, False), (49_151, 65_536, False), (0, 0, True)],
)
def test_base64_is_counted_as_the_provider_counts_it(raw: int, encoded: int, fits: bool) -> None:
    size = Size(raw, 8_192, 65_535)
    assert (size.encoded, size.fits) == (encoded, fits)
    assert size.encoded == len(base64.b64encode(b"x" * raw))


def with_cloud_init(raw: int) -> tuple[Finding, ...]:
    """What is found about a template that fills in to so many bytes beside the node bundle."""
    whole = estate()
    profile = whole.join_profiles[0]
    worst = max(one.size.raw - one.size.bundle for one in sizes(whole))
    kubernetes = profile.joins[0]
    # the template for Kubernetes is the larger one, and stays the largest
    padded = kubernetes.model_copy(update={"template": kubernetes.template + "#" + "x" * (raw - worst - 2) + "\n"})
    joins = (padded, *profile.joins[1:])
    grown = replace(whole, join_profiles=(profile.model_copy(update={"joins": joins}),))
    return tuple(f for f in check(grown) if f.code == "EBT-237")


def test_the_case_of_41_000_bytes_is_refused_with_both_sizes_and_the_pools_name() -> None:
    found = with_cloud_init(41_000)
    assert len(found) == 9  # aggregates
    said = {f.message for f in found}
    assert any(
        "h1-general-a-4x16 comes to 65,592 bytes in base64, and the pool takes 65,535: 41,000 bytes of the join "
        "profile kubeadm-join for forecast and up to 8,192 of node bundle" in text
        for text in said
    ), said
    assert {(f.seen, f.expected) for f in found} == {("65,592", "at most 65,535")}


@pytest.mark.parametrize(("raw", "refused"), [(49_149, False), (49_150, True)])
def test_one_byte_decides(raw: int, refused: bool) -> None:
    assert bool(with_cloud_init(raw - MAX_NODE_BUNDLE)) is refused


def test_the_limit_is_the_pools_own() -> None:
    files = changed(GENERAL, ("joinProfile: kubeadm-join", "joinProfile: kubeadm-join\nuserDataLimit: 9000"))
    (finding,) = judged(files).findings
    assert (finding.code, finding.expected, finding.place.file) == ("EBT-237", "at most 9,000", GENERAL)
    assert finding.place.line == 8


@settings(max_examples=20)
@given(st.integers(0, 6_000), st.sampled_from(["forecast", "hindcast"]), st.integers(1, 64))
def test_nothing_that_is_rendered_is_larger_than_what_was_reckoned_with(size: int, workload: str, token: int) -> None:
    whole = estate()
    contract = whole.contract_by_name[workload]
    for one in sizes(whole):
        if one.served.cluster == contract.cluster:
            raw = user_data(
                whole,
                one.served.pool,
                contract,
                node_bundle=bundle_of(workload, size),
                instance="i" * 63,
                token="t" * token,
            )
            assert len(raw) <= one.size.raw


def test_a_bundle_above_the_limit_is_not_rendered() -> None:
    whole = estate()
    with pytest.raises(Refused, match="8,192"):
        user_data(
            whole,
            whole.pools[0],
            whole.contracts[0],
            node_bundle=b"x" * (MAX_NODE_BUNDLE + 1),
            instance="i",
            token="f" * 64,
        )


# -------------------------------------------------------------------------------------------------------------- secrets

SEED = "SUA" + "B7" * 27 + "B"
KEYS = {
    "EBT-233": (
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "PuTTY-User-Key-File-3: ssh-ed25519",
        "AGE-SECRET-KEY-1" + "Q" * 58,
        f"seed: {SEED}",
        "PrivateKey = " + "0a" * 21 + "A=",
    ),
    "EBT-234": (
        "kubeadm join host:6443 --token abcdef.0123456789abcdef",
        "token: 'abcdef.0123456789abcdef'",
        "--certificate-key " + "0a" * 32,
        "certificateKey: " + "0a" * 32,
        "K10" + "0a" * 32 + "::server:abc",
        "- path: /etc/munge/munge.key\n    encoding: b64\n    permissions: '0400'\n    content: b3dl",
        "- {path: /etc/slurm/slurm.key, encoding: b64, content: b3dl}",
        "- content: b3dl\n    encoding: b64\n    path: /etc/munge/munge.key",
        "echo " + "0a" * 40 + " | base64 -d > /etc/munge/munge.key",
    ),
    "EBT-235": (
        "password: low-water",
        "plain_text_passwd: 'low-water'",
        "hashed_passwd: x",
        "DB_PASSWORD=low-water",
        '"passphrase": "low water"',
        "chpasswd: {expire: false}",
        "root:$6$saltsalt$0123456789abcdef",
        "$2b$12$abcdefghijklmnopqrstuv",
        "https://user:low-water@example.org/x",
    ),
    "EBT-236": (
        "AKIA" + "EXAMPLEEXAMPLE12",
        "aws_secret_access_key = " + "wJalrXUtnFEMIK7MDENGbPxRfiCY",
        "application_credential_secret: abcdefghijklmnop",
        "ghp_" + "a" * 36,
        "glpat-" + "a" * 20,
        "xoxb-1234567890-abcdef",
        "hvs." + "a" * 24,
        "AIza" + "a" * 35,
        "eyJhbGciOiJIUzI1" + "." + "eyJzdWIiOiIxMjM0" + ".c2lnbmF0dXJl",
        "Authorization: Bearer abcdefgh12345678",
        "api_key: 0123456789abcdef",
        "client-secret=0123456789abcdef",
    ),
}
HARMLESS = (
    "lock_passwd: true",
    "[chown, munge, /etc/munge/munge.key]",
    "- path: /etc/munge/munge.key\n    content: '@ENROLMENT_TOKEN@'",
    "base64 -d /run/ebbtide/munge > /etc/munge/munge.key",
    "ssh_pwauth: false",
    "passwd: ''",
    "/etc/passwd",
    'content: "@ENROLMENT_TOKEN@"',
    "token-file: /etc/ebbtide/enrolment-token",
    "ssh_authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a]",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "fingerprint: sha256:" + "0a" * 32,
    "https://enrol.aarhus.three-ports.example:8443",
    "aarhus-k8s-a.three-ports.example:6443",
    "net.ipv4.ip_forward = 1",
    "/var/lib/cloud/instance/scripts",
    "image: registry.example/ebbtide/agent:1.2.3",
)


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in KEYS.items() for text in texts])
def test_a_secret_is_found_plain_in_base64_and_compressed(code: str, text: str) -> None:
    (found,) = secrets_in(f"#cloud-config\n\n  {text}\n", code)
    assert (found.line, found.encoded) == (3, False)
    hidden = base64.b64encode(f"some words before it\n{text}\n".encode()).decode()
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    for value in (hidden, packed):
        assert [(f.line, f.encoded) for f in secrets_in(f"a\n  content: {value}\n", code)] == [(2, True)]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_public_is_left_alone(text: str) -> None:
    assert [found for code in KEYS for found in secrets_in(f"x\n{text}\n", code)] == []


def test_every_pattern_fires_on_some_sample() -> None:
    texts = [text for texts in KEYS.values() for text in texts]
    assert [pattern.what for pattern in PATTERNS if not any(pattern.found.search(text) for text in texts)] == []
    assert {pattern.code for pattern in PATTERNS} == KEYS.keys()


def test_a_finding_never_repeats_the_secret() -> None:
    word = "low-water-mark"
    files = changed(PROFILE, ("      #cloud-config\n", f"      #cloud-config\n      password: {word}\n"))
    found = [f for f in judged(files).findings if f.code == "EBT-235"]
    assert len(found) == 2  # one a template
    assert not any(word in f"{f.message} {f.seen} {f.expected} {f.hint}" for f in found)


@given(st.text(max_size=200) | st.binary(max_size=120).map(lambda raw: base64.b64encode(raw).decode()))
def test_the_search_ends_on_any_text(text: str) -> None:
    for code in KEYS:
        assert all(1 <= found.line <= text.count("\n") + 1 for found in secrets_in(text, code))


# ------------------------------------------------------------------------------------------------------------ the rules


def codes(*swaps: tuple[str, str], path: str = PROFILE) -> list[str]:
    return [f.code for f in judged(changed(path, *swaps)).findings]


def test_a_cluster_that_the_settings_lack_is_named() -> None:
    assert set(codes(("name: north-slurm", "name: north-slrum"))) == {"EBT-231"}


def test_a_region_without_enrolment_is_named() -> None:
    found = judged(changed(PROFILE, ("region: north", "region: south"))).findings
    assert {f.code for f in found} == {"EBT-231"}
    assert any("enrolment of the region north" in f.message for f in found)


def test_two_templates_for_one_scheduler_are_refused() -> None:
    found = codes(("scheduler: slurm", "scheduler: kubernetes"))
    assert "EBT-231" in found


@pytest.mark.parametrize("name", ["NODE_BUNDLE", "INSTANCE_NAME", "TAINT", "LABEL"])
def test_a_template_that_lacks_what_its_node_cannot_do_without_is_refused(name: str) -> None:
    assert "EBT-232" in codes((f"@{name}@", "nothing"))


def test_the_bundle_stands_alone_on_its_line() -> None:
    assert set(codes(("  @NODE_BUNDLE@", "  bundle=@NODE_BUNDLE@"))) == {"EBT-232"}


@pytest.mark.parametrize("text", ["a: [", "- a", "a: b\n      ---\n      c: d", "{{{{" * 300])
def test_a_template_that_is_no_cloud_config_is_refused(text: str) -> None:
    assert "EBT-239" in codes(("      #cloud-config\n", f"      #cloud-config\n      {text}\n"))


def test_a_script_is_user_data_too() -> None:
    files = minimal()
    text = files[PROFILE].decode().replace("      #cloud-config\n", "      #!/bin/sh\n")
    assert judged({**files, PROFILE: text.encode()}).findings == ()


def test_the_reference_estate_uses_all_three_kinds_of_profile_and_every_pool_joins_what_it_serves() -> None:
    whole = judged(files_of(ROOT / "repo_layout" / "estate")).estate
    assert whole is not None
    profiles = {one.pool.join_profile for one in served(whole)}
    assert profiles == {"kubeadm-join", "slurm-dynamic", "prebaked-image"}
    assert all(joining(whole, one.pool, one.cluster) for one in served(whole))
    assert all(one.size.fits and one.size.encoded < 20_000 for one in sizes(whole))
