"""What a slip in a list, a gang or a family would hide: domains that no bound counts, and work that can never start."""

from __future__ import annotations

import pytest

from tests.checks.estates import FORECAST, GENERAL, HINDCAST, changed, findings_of, minimal, with_lines

HALL_1 = "correlation_groups/north/hall-1.yaml"
HALL_2 = "correlation_groups/north/hall-2.yaml"
HALLS = [f"correlation_groups/north/hall-{n}.yaml" for n in range(1, 5)]


def of_code(files: dict[str, bytes], code: str) -> list[tuple[str, str]]:
    return [(f.place.file, f.message) for f in findings_of(files) if f.code == code]


def test_a_new_aggregate_that_no_hall_holds_is_refused_with_the_group_it_belongs_to() -> None:
    new = {"pools/north/h1-general-c.yaml": minimal()[GENERAL].replace(b"h1-general-a", b"h1-general-c")}
    (found,) = findings_of(minimal() | new)
    assert (found.code, found.place.file, found.place.line) == ("EBT-223", "pools/north/h1-general-c.yaml", 4)
    assert found.message.startswith("h1-general-c stands in hall h1, and no group of kind hall holds it")
    assert found.expected == "a member of hall-1"


def test_a_domain_in_two_halls_counts_in_one_and_is_refused() -> None:
    ((file, message),) = of_code(changed(HALL_2, ("[h2-general-a", "[h1-general-a, h2-general-a")), "EBT-223")
    assert (file, "in two groups of kind hall, hall-1 and hall-2" in message) == (HALL_2, True)


def test_a_domain_in_the_group_of_another_hall_is_refused() -> None:
    files = changed(HALL_1, ("h1-general-a, ", ""))
    files = changed(HALL_2, ("[h2-general-a", "[h1-general-a, h2-general-a"), files=files)
    ((file, message),) = of_code(files, "EBT-223")
    assert (file, "the other domains of that hall are in hall-1" in message) == (HALL_2, True)


def test_halls_that_only_report_hold_their_domains_all_the_same() -> None:
    files = minimal()
    for path in HALLS:
        files = changed(path, ("fallsWith: hall\n", "fallsWith: hall\nbounding: false\n"), files=files)
    assert findings_of(files) == ()
    gone = {path: text for path, text in minimal().items() if path not in HALLS}
    assert len(of_code(gone, "EBT-223")) == len(HALLS)


@pytest.mark.parametrize(("size", "refused"), [(64, False), (65, True)])
def test_one_gang_alone_has_to_fit_one_aggregate(size: int, refused: bool) -> None:
    # 64 instances of 4x16 fill the four hosts of an aggregate, and a workload of one gang is exempt from every bound
    files = changed(FORECAST, ("maximum: 40", f"maximum: {size}"), ("floor: 4\nminimum: 8\n", ""))
    files = with_lines(FORECAST, f"eligibility: {{gang: {{size: {size}, within: hall}}}}\n", files)
    told = of_code(files, "EBT-224")
    assert bool(told) == refused
    assert not refused or "holds 64 when it is empty" in told[0][1]


def test_a_floor_of_gangs_is_not_laid_over_two_aggregates() -> None:
    # 32 instances are committed: three gangs of ten, not 3.2; a second aggregate with room for nine adds none
    second = minimal()["pools/north/h1-committed.yaml"].replace(b"h1-committed", b"h2-committed")
    second = second.replace(b"hall: h1", b"hall: h2").replace(b"count: 2, vcpu: 64, memory: 256GiB",
                                                              b"count: 1, vcpu: 36, memory: 144GiB")  # fmt: skip
    files = minimal() | {"pools/north/h2-committed.yaml": second}
    files = changed(FORECAST, ("maximum: 40", "maximum: 40"), ("floor: 4\nminimum: 8", "floor: 40"), files=files)
    gangs = with_lines(FORECAST, "eligibility: {gang: {size: 10, within: hall}}\n", files)
    ((_, message),) = of_code(gangs, "EBT-203")
    assert "10 of its 40 find no room" in message
    assert "hold 41 units of its size when empty" in message


def test_a_family_without_gpus_would_count_no_gpu_in_the_ncu_of_its_team() -> None:
    ((_, message),) = of_code(with_lines(HINDCAST, "eligibility: {gpuFamily: l40s}\n"), "EBT-225")
    assert message == "hindcast asks for the class gpu-l40s, and its unit takes no GPU"


def test_no_pool_says_whether_the_kind_or_the_size_is_lacking() -> None:
    ((_, message),) = of_code(with_lines(HINDCAST, "eligibility: {architecture: arm64}\n"), "EBT-209")
    assert message.endswith("none of 8 offers class arm64 as its eligibility asks for it")
    ((_, message),) = of_code(changed(HINDCAST, ("memory: 16GiB", "memory: 16GiB, localDisk: 1TiB")), "EBT-209")
    assert "it takes 4 vCPU, 16GiB, 1TiB of disk, and the largest of 8 instances of class x86-64" in message
