"""Strict scalars: what each text means, and what is said about the others."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts import values
from contracts.errors import Refused
from contracts.values import BadValue, ClockTime, Money

PARSERS: list[Callable[[str], object]] = [
    values.parse_duration,
    values.parse_size,
    values.parse_quantity,
    values.parse_money,
    values.parse_rate,
    values.parse_share,
    values.parse_name,
    values.parse_date,
    values.parse_clock_time,
]


def refusal(parser: Callable[[str], object], text: str) -> str:
    with pytest.raises(BadValue) as caught:
        parser(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("0s", 0), ("2h", 7200), ("1h0m5s", 3605), ("200m", 12000)],
)
def test_a_duration_is_whole_seconds(text: str, seconds: int) -> None:
    assert values.parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("90", "did you mean 90s?"),
        ("7d", "did you mean 168h?"),
        ("1:30", "did you mean 90s or 1h30m?"),
        ("1h90m", "did you mean 2h30m?"),
        ("", ""),
        ("1.5h", ""),
        ("-5s", ""),
        ("05m", ""),
        ("1m 30s", ""),
        ("1H", ""),
        ("\u0661s", ""),
        ("90s\n", ""),
    ],
)
def test_a_duration_that_is_none_says_what_was_expected(text: str, hint: str) -> None:
    said = refusal(values.parse_duration, text)
    assert "a duration such as 90s, 10m or 1h30m" in said
    assert said.endswith(hint)


@given(st.integers(0, 10**8))
@settings(max_examples=200, deadline=None)
def test_a_formatted_duration_reads_back(seconds: int) -> None:
    assert values.parse_duration(values.format_duration(seconds)) == seconds


def test_durations_are_written_as_people_say_them() -> None:
    assert [values.format_duration(s) for s in (0, 60, 90, 120, 125, 5400)] == [
        "0s",
        "1m",
        "90s",
        "2m",
        "2m5s",
        "1h30m",
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [("512MiB", 512 << 20), ("1.4GiB", 1503238554), ("0B", 0), ("1KiB", 1024), ("2TiB", 2 << 40), ("17B", 17)],
)
def test_a_size_is_whole_bytes_rounded_up(text: str, count: int) -> None:
    assert values.parse_size(text) == count


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("512m", "512MiB"),
        ("512M", "512MiB"),
        ("512Mi", "512MiB"),
        ("1GB", "1GiB"),
        ("1.5 gb", "1.5GiB"),
        ("4k", "4KiB"),
        ("512 MiB", "512MiB"),
        ("1288490188800m", "1.2GiB"),
        ("99999999m", "99999999MiB"),
    ],
)
def test_a_size_in_other_units_is_refused_with_what_was_meant(text: str, meant: str) -> None:
    assert refusal(values.parse_size, text).endswith(f"did you mean {meant}?")


@pytest.mark.parametrize("text", ["512", "", "1.5B", "-1GiB", "01GiB", ".5GiB", "1e3MiB", "1_0MiB", "\u0662MiB"])
def test_a_size_without_sense_is_refused(text: str) -> None:
    assert "a size such as 512MiB or 1.4GiB" in refusal(values.parse_size, text)


@given(st.integers(0, 1 << 44))
@settings(max_examples=200, deadline=None)
def test_a_formatted_size_reads_back_to_the_byte(count: int) -> None:
    assert values.parse_size(values.format_size(count)) == count


def test_a_size_is_written_in_its_largest_exact_unit() -> None:
    assert values.format_size(1503238554) == "1.4GiB"
    assert values.format_size(512 << 20) == "512MiB"
    assert values.format_size((1 << 30) + 1) == "1073741825B"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1288490188800m", 1288490189),
        ("1.5Gi", 1610612736),
        ("129e6", 129000000),
        ("128974848", 128974848),
        ("0.001Mi", 1049),
        ("1Ei", 1 << 60),
        ("2E", 2 * 10**18),
        ("4E3", 4000),
        ("5k", 5000),
    ],
)
def test_a_pods_memory_is_read_exactly_and_rounded_up(text: str, count: int) -> None:
    quantity = values.parse_quantity(text)
    assert quantity.bytes_up == count
    assert quantity.memory_doubt == ""


@pytest.mark.parametrize(("text", "meant"), [("512m", "512Mi"), ("2048m", "2048Mi"), ("1m", "1Mi"), ("512", "512Mi")])
def test_memory_of_a_few_bytes_in_a_pod_is_flagged(text: str, meant: str) -> None:
    assert values.parse_quantity(text).memory_doubt.endswith(f"did you mean {meant}?")


def test_memory_of_part_of_a_byte_is_flagged_and_none_is_not() -> None:
    assert values.parse_quantity("0.5").memory_doubt == '"0.5" of memory is 0.5 bytes'
    assert values.parse_quantity("0").memory_doubt == ""


def test_a_pods_processors_are_read_in_thousandths() -> None:
    assert [values.parse_quantity(text).millis_up for text in ("250m", "2", "0.1", "100u")] == [250, 2000, 100, 1]


@pytest.mark.parametrize("text", ["", "-1", "1Kb", "e6", "1e", "1e999", "Gi", ".", "1 Gi", "NaN"])
def test_a_quantity_that_kubernetes_would_refuse_is_refused(text: str) -> None:
    assert "a Kubernetes quantity" in refusal(values.parse_quantity, text)


def test_money_adds_exactly_and_refuses_another_currency() -> None:
    ten = values.parse_money("0.10 EUR")
    assert sum([ten] * 2, start=ten) == values.parse_money("0.30 EUR")
    assert values.parse_money("12.50 EUR") == Money(Decimal("12.5"), "EUR")
    assert values.parse_money("12.50 EUR") != Money(Decimal("12.5"), "USD")
    dollar = values.parse_money("1 USD")
    with pytest.raises(BadValue, match="two currencies do not mix"):
        _ = ten + dollar
    with pytest.raises(BadValue, match="two currencies do not mix"):
        _ = ten < dollar


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("12.50", "the currency is missing"),
        ("12,50 EUR", 'did you mean "12.50 EUR"?'),
        ("12.50eur", 'did you mean "12.50 EUR"?'),
        ("EUR 12.50", ""),
        ("1e3 EUR", ""),
        ("0.0000001 EUR", ""),
        ("+1 EUR", ""),
        ("01 EUR", 'did you mean "1 EUR"?'),
    ],
)
def test_money_in_another_form_is_refused(text: str, hint: str) -> None:
    said = refusal(values.parse_money, text)
    assert 'money such as "12.50 EUR"' in said
    assert hint in said


@given(st.integers(-(10**20), 10**20))
@settings(max_examples=200, deadline=None)
def test_money_keeps_every_micro_unit(micros: int) -> None:
    money = values.money_of_micros(micros, "EUR")
    assert money.micros == micros
    assert values.parse_money(values.format_money(money)) == money


def test_a_rate_is_a_price_that_is_not_negative() -> None:
    assert str(values.parse_rate("0.0912 EUR")) == "0.0912 EUR"
    assert "a rate is not negative" in refusal(values.parse_rate, "-0.0912 EUR")


def test_a_share_is_exact() -> None:
    assert [values.parse_share(text) for text in ("15%", "2.5%", "0%", "100%")] == [
        Decimal("0.15"),
        Decimal("0.025"),
        0,
        1,
    ]
    assert [values.format_share(Decimal(text)) for text in ("0.15", "0.025", "0", "1")] == ["15%", "2.5%", "0%", "100%"]
    assert refusal(values.parse_share, "0.15").endswith("did you mean 15%?")
    assert "from 0% to 100%" in refusal(values.parse_share, "101%")


@pytest.mark.parametrize("text", ["web", "a", "1a", "batch-2", "a" * 63])
def test_a_plain_name_passes(text: str) -> None:
    assert values.parse_name(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("w\u0435b", "character 2 is U+0435 CYRILLIC SMALL LETTER IE"),
        ("\u0430pi", "character 1 is U+0430 CYRILLIC SMALL LETTER A"),
        ("we\uff42", "character 3 is U+FF42 FULLWIDTH LATIN SMALL LETTER B"),
        ("web\u200b", "character 4 is U+200B ZERO WIDTH SPACE"),
        ("web1\u0660", "character 5 is U+0660 ARABIC-INDIC DIGIT ZERO"),
        ("Web_Front", "did you mean web-front?"),
        ("-web", "did you mean web?"),
        ("", "at most 63 characters"),
        ("a" * 64, "at most 63 characters"),
    ],
)
def test_a_name_of_other_letters_is_refused_with_the_letter(text: str, said: str) -> None:
    assert said in refusal(values.parse_name, text)


def test_a_date_is_a_day_of_the_calendar() -> None:
    assert values.parse_date("2028-02-29") == dt.date(2028, 2, 29)
    assert values.format_date(dt.date(2026, 3, 9)) == "2026-03-09"
    for text in ("2026-02-29", "2026-13-01"):
        assert "a day of the calendar" in refusal(values.parse_date, text)
    for text in ("2026-3-9", "20260309", "09.03.2026", ""):
        assert "a date such as 2026-03-29" in refusal(values.parse_date, text)


def ms(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp() * 1000)


def test_a_time_that_comes_twice_counts_once_at_its_first_instant() -> None:
    clock = values.parse_clock_time("02:30 Europe/Berlin")
    first = clock.next_after(ms("2026-10-24T12:00:00+00:00"))
    assert first == 1792888200 * 1000
    assert clock.next_after(first) == ms("2026-10-26T01:30:00+00:00")
    assert clock.next_after(1792891800 * 1000 - 1) == ms("2026-10-26T01:30:00+00:00")


def test_a_time_that_does_not_exist_counts_one_hour_later() -> None:
    clock = values.parse_clock_time("02:30 Europe/Berlin")
    assert clock.next_after(ms("2026-03-28T12:00:00+00:00")) == ms("2026-03-29T01:30:00+00:00")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"])
@given(at=st.integers(ms("2000-01-01T00:00:00+00:00"), ms("2060-01-01T00:00:00+00:00")), minute=st.integers(0, 1439))
@settings(max_examples=40, deadline=None)
def test_the_next_time_lies_within_two_days_and_in_order(zone: str, at: int, minute: int) -> None:
    clock = ClockTime(minute // 60, minute % 60, zone)
    then = clock.next_after(at)
    assert at < then <= at + 50 * 3_600_000
    assert clock.next_after(then - 1) == then
    assert clock.next_after(then) > then


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("22:22", "the zone is missing"),
        ("22:22 CET", "CET does not name a place"),
        ("22:22 Europe/Berlln", "there is no zone Europe/Berlln"),
        ("22:22 Europe/../Berlin", ""),
        ("22:22 Europe/", ""),
        ("22:22 ../etc/passwd", ""),
        ("24:00 Europe/Berlin", ""),
        ("9:05 Europe/Berlin", ""),
        ("22:22 right/Europe/Berlin", "does not name a place"),
    ],
)
def test_a_time_of_day_needs_a_place(text: str, said: str) -> None:
    refused = refusal(values.parse_clock_time, text)
    assert 'such as "22:22 Europe/Berlin"' in refused
    assert said in refused


def test_a_time_of_day_is_written_as_it_is_read() -> None:
    assert values.format_clock_time(values.parse_clock_time("07:05 Europe/Berlin")) == "07:05 Europe/Berlin"


def test_a_bad_value_asks_for_a_person_and_fits_a_line() -> None:
    error = BadValue("x\n" * 100, "short", "cut it")
    assert isinstance(error, Refused)
    assert "\n" not in str(error)
    assert len(error.seen) == 80


@given(st.text(max_size=40), st.sampled_from(PARSERS))
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_value_or_a_bad_value(text: str, parser: Callable[[str], object]) -> None:
    outcome: object
    try:
        outcome = parser(text)
    except BadValue as error:
        outcome = error.expected
    assert outcome is not None


def test_the_agent_can_afford_the_values_module() -> None:
    code = "import sys, contracts.values; print(' '.join(sorted(m for m in sys.modules if '.' not in m)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "yaml", "pygit2", "numpy", "asyncio", "socket", "ssl", "json", "logging", "difflib", "urllib"}
    assert heavy.isdisjoint(done.stdout.split())
