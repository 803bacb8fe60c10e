"""The envelope refuses what no sum could use, and keeps everything else as it came."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import Breach, Refused
from ledger.causes import Cause
from ledger.events import MONEY, REQUIRED, SUBJECTS, WHOLE, Datum, Event, EventType, Paid, Use, from_line, to_line
from ledger.money import TICKS, amount_text, divided, nanos, rounded
from ledger.usage import slots

USAGE: dict[str, Datum] = {
    "from_ms": 0,
    "to_ms": 10,
    "slot": 0,
    "units": 2,
    "of_units": 3,
    "use": "serving",
    "paid": "floor",
}


def made(kind: EventType, data: dict[str, Datum], *, workload: str = "w", identity: str = "e") -> Event:
    return Event(
        id=identity,
        occurred_at=1,
        recorded_at=2,
        type=kind,
        cause=Cause.ACCOUNTING,
        region="north",
        workload=workload,
        pool="p",
        instance="i",
        data=data,
    )


@pytest.mark.parametrize("kind", EventType)
def test_every_type_survives_its_line_and_lacks_nothing_it_promised(kind: EventType) -> None:
    texts: dict[str, Datum] = {"use": "idle", "paid": "headroom", "from_ms": 0, "to_ms": 1, "units": 1, "of_units": 2}
    data: dict[str, Datum] = {}
    for name in REQUIRED[kind]:
        data[name] = texts.get(name, 1 if name in WHOLE else "1.5" if name in MONEY else "ä\n")
    event = made(kind, data)
    assert from_line(to_line(event)) == event
    for name in REQUIRED[kind]:
        with pytest.raises(Refused, match=name):
            made(kind, {key: value for key, value in data.items() if key != name})


def test_every_type_is_in_the_catalogue() -> None:
    assert set(REQUIRED) == set(EventType)
    assert set(SUBJECTS) <= set(EventType)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("from_ms", -1),
        ("from_ms", "0"),
        ("from_ms", True),
        ("to_ms", 2**53 + 1),
        ("to_ms", 0),
        ("units", 0),
        ("units", 4),
        ("slot", 2),
        ("use", "redone"),
        ("paid", "gift"),
    ],
)
def test_usage_that_no_bill_could_hold_is_refused(field: str, value: Datum) -> None:
    made(EventType.USAGE, USAGE)
    with pytest.raises(Refused):
        made(EventType.USAGE, USAGE | {field: value})


def test_only_headroom_is_used_by_no_workload() -> None:
    made(EventType.USAGE, USAGE | {"paid": "headroom"}, workload="")
    with pytest.raises(Refused, match="only headroom"):
        made(EventType.USAGE, USAGE, workload="")


@pytest.mark.parametrize(
    "text", ["", "1e3", ".5", "1.", "+1", "0.1234567891", "1234567890", "1,5", "NaN", " 1", "1\n", 1]
)
def test_money_that_is_not_exact_decimal_text_is_refused(text: Datum) -> None:
    with pytest.raises(Refused, match="amount"):
        made(EventType.STORAGE_CHARGED, {"amount": text, "currency": "EUR"})


def test_a_rate_is_never_below_zero_but_a_correction_may_be() -> None:
    made(EventType.STORAGE_CHARGED, {"amount": "-1.5", "currency": "EUR"})
    with pytest.raises(Refused, match="rate"):
        made(EventType.RATE_KNOWN, {"rate": "-1", "guaranteed": "1", "currency": "EUR", "effective_from": 0})


def test_an_event_without_an_id_is_refused() -> None:
    with pytest.raises(Refused, match="lacks id"):
        made(EventType.POOL_PROBED, {}, identity="")


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b"null", b'{"v":2}', b"\xff", to_line(made(EventType.USAGE, USAGE))[:-1]]
)
def test_a_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(Refused):
        from_line(line)


@given(st.decimals(min_value=-999999999, max_value=999999999, places=9))
def test_money_keeps_every_digit(value: Decimal) -> None:
    assert Decimal(nanos(amount_text(value))).scaleb(-9) == value


def test_money_with_more_digits_than_the_ledger_keeps_is_refused() -> None:
    for value in (Decimal("0.0000000001"), Decimal(10**9), Decimal("NaN")):
        with pytest.raises(Refused):
            amount_text(value)
    with pytest.raises(Refused):
        nanos("1e3")


@pytest.mark.parametrize(
    ("ticks", "places", "text"),
    [
        (TICKS, 2, "1.00"),
        (TICKS // 200, 2, "0.01"),
        (TICKS // 200 - 1, 2, "0.00"),
        (-TICKS // 200, 2, "-0.01"),
        (3, 9, "0E-9"),
        (TICKS // 8, 0, "0"),
    ],
)
def test_rounding_happens_once_and_halves_go_away_from_zero(ticks: int, places: int, text: str) -> None:
    assert str(rounded(ticks, places=places)) == text


@given(st.integers(), st.integers(1, 10**20))
def test_division_is_never_off_by_more_than_a_half(dividend: int, divisor: int) -> None:
    assert abs(2 * (divided(dividend, divisor) * divisor - dividend)) <= divisor
    assert divided(-dividend, divisor) == -divided(dividend, divisor)


@given(st.integers(1, 70), st.data())
def test_slots_cover_an_instance_without_gap_or_overlap(holds: int, data: st.DataObject) -> None:
    serving = data.draw(st.integers(0, holds))
    draining = data.draw(st.integers(0, holds - serving))
    runs = slots(holds, [(Use.SERVING, serving), (Use.DRAINING, draining)])
    taken = [slot for run in runs for slot in range(run.slot, run.slot + run.units)]
    assert taken == list(range(holds))
    for run in runs:
        made(EventType.USAGE, run.data(of_units=holds, paid=Paid.RECLAIMABLE, from_ms=0, to_ms=1))


@pytest.mark.parametrize("used", [[(Use.SERVING, 4)], [(Use.SERVING, 2), (Use.DRAINING, 2)], [(Use.IDLE, -1)]])
def test_more_units_than_an_instance_holds_is_a_breach(used: list[tuple[Use, int]]) -> None:
    with pytest.raises(Breach):
        slots(3, used)
