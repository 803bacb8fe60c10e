"""The sandbox's protocol: strict in what it reads, the same values on both sides, and one bad client harms no other."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from contracts.errors import Breach, EbbtideError, Gone, Refused, Transient
from pools.provider import (
    Conflict,
    CreateRequest,
    Listing,
    Mark,
    Part,
    QuotaExhausted,
    RateCard,
    Server,
    Signals,
    Status,
)
from reconciler.ports import Demand, NodeView, SchedulerView
from simulation.adapters.sandbox_client import SandboxLink, SandboxSite
from simulation.adapters.sandbox_server import read_account
from simulation.sandbox_protocol import (
    LONGEST_CALL,
    Garbled,
    read_answer,
    read_call,
    write_answer,
    write_call,
    write_error,
)
from tests.reconciler.builders import ESTATE, MINUTE, POOL, PROJECT, REGION, START
from tests.run.region import quiet, served_here

MARK = Mark(ESTATE, REGION, "n1", 3, "forecast", 1, "reclaimable")
REQUEST = CreateRequest(POOL, PROJECT, MARK, b"\x00\xff user data")
ANSWERS = (
    ("create", (REQUEST,), Server("s1", "n1", PROJECT, POOL, Status.BUILDING, START, MARK, tags=(("a", "b"),))),
    ("instances", (), Listing(START, (), (Part(PROJECT, complete=False, reason="503 on page 2"),))),
    ("rates", (), RateCard(START, "EUR", {POOL: Decimal("0.10")}, {POOL: Decimal("0.2500")})),
    ("signals", ("7",), Signals(START, "9")),
    ("view", (), SchedulerView(START, {"w": Demand("w", 1, 2, 3)}, {"n": NodeView("n", 1, 2, covered=True)})),
    ("delete", ("s1", MARK), None),
    ("mark", ("s1", None), None),
    ("wait", (START + 1,), True),
)


@pytest.mark.parametrize(("name", "values", "answer"), ANSWERS, ids=[name for name, _, _ in ANSWERS])
def test_what_is_written_is_what_is_read(name: str, values: tuple[object, ...], answer: object) -> None:
    call = read_call(write_call(7, name, values).rstrip(b"\n"))
    assert (call.id, call.name, call.values) == (7, name, values)
    heard = read_answer(write_answer(call, START, answer), 7, name)
    assert (heard.now, heard.value, heard.error) == (START, answer, None)


@pytest.mark.parametrize(
    "error",
    [Refused("a"), QuotaExhausted("b"), Gone("c"), Breach("d"), Transient("e", retry_after_s=2.5), Conflict("f")],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_what_the_caller_must_do(error: EbbtideError) -> None:
    heard = read_answer(write_error(7, START, error), 7, "create").error
    assert type(heard) is type(error)
    assert str(heard) == str(error)
    assert getattr(heard, "retry_after_s", None) == getattr(error, "retry_after_s", None)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"not json",
        b'{"id":1,"call":"signals"}',
        b'{"id":1,"call":"explode","with":[]}',
        b'{"id":"1","call":"rates","with":[]}',
        b'{"id":1,"call":"rates","with":[],"more":1}',
        b'{"id":1,"call":"rates","with":[1]}',
        b'{"id":1,"call":"signals","with":[7]}',
        b'{"id":1,"call":"ask_return","with":["n1","1767225600000","e"]}',
        b'{"id":1,"call":"ask_return","with":["n1",1767225600000.5,"e"]}',
        b'{"id":1,"call":"wait","with":[true]}',
        write_call(1, "create", (REQUEST,)).replace(b'"epoch":3', b'"epoch":3,"root":1').rstrip(b"\n"),
        write_call(1, "create", (REQUEST,)).replace(b'"units":1,', b"").rstrip(b"\n"),
        b'{"id":1,"call":"signals","with":["' + b"x" * 2000 + b'"]}',
        b'{"id":1,"call":"signals","with":["' + b"x" * LONGEST_CALL + b'"]}',
    ],
    ids=range(16),
)
def test_a_call_that_is_not_exactly_one_of_ours_is_not_understood(line: bytes) -> None:
    with pytest.raises(Garbled):
        read_call(line)


def test_an_answer_to_another_call_is_not_taken() -> None:
    call = read_call(write_call(7, "clock", ()).rstrip(b"\n"))
    with pytest.raises(Garbled, match="another call"):
        read_answer(write_answer(call, START, START), 8, "clock")


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Iterator[Path]:
    """The small region, served in lockstep by a thread."""
    with served_here(tmp_path / "s", quiet()) as path:
        yield path


def test_the_socket_is_its_owner_s_alone_and_one_that_is_not_is_refused(path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    with pytest.raises(Refused, match="ours alone"):
        SandboxLink(path, client="a").open()


def test_a_client_of_another_version_is_told_which_one_is_spoken(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(path))
        other.sendall(b'{"id":1,"call":"hello","with":[99,"future"]}\n')
        assert b"version 2 of the protocol, not 99" in other.recv(4096)


def test_a_client_that_says_nonsense_is_let_go_and_the_next_is_served(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(path))
        other.sendall(b"GET / HTTP/1.1\n\n")
        assert b"not understood" in other.recv(4096)
        assert other.recv(4096) == b""
    link = SandboxLink(path, client="a")
    assert link.open().region == REGION
    link.close()


def test_two_cannot_serve_one_socket_and_what_a_dead_server_left_is_taken_over(path: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be served"), served_here(path, quiet()):
        pass
    left = tmp_path / "left"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(left))
    with served_here(left, quiet()):
        assert left.is_socket()
    assert not left.exists()


def test_time_passes_only_while_somebody_waits(path: Path) -> None:
    link = SandboxLink(path, client="a")
    before = link.ask("clock", int)
    assert link.ask("clock", int) == before
    while link.now() < before + MINUTE:
        link.wait(before + MINUTE - link.now())
    assert link.ask("clock", int) == before + MINUTE
    link.close()


def test_a_lost_connection_is_transient_and_the_next_call_opens_another(path: Path) -> None:
    link = SandboxLink(path, client="a")
    assert link.open().estate == ESTATE
    assert link._socket is not None
    link._socket.shutdown(socket.SHUT_RDWR)
    with pytest.raises(Transient, match="may have taken effect"):
        link.ask("rates", RateCard)
    assert link.ask("rates", RateCard).currency == "EUR"
    link.close()


def test_a_repeated_request_stands_in_the_account_as_one_that_changed_nothing(path: Path) -> None:
    link = SandboxLink(path, client="a")
    made = [link.ask("create", Server, REQUEST).id for _ in range(2)]
    assert made[0] == made[1]
    with pytest.raises(Gone):
        SandboxSite(link).remove_node("n1")
    told = [(one.client, one.act, one.key, one.changed) for one in read_account(path.with_name("s.account"))]
    assert told == [("a", "create", "n1", True), ("a", "create", "n1", False), ("a", "deregister", "n1", False)]
    link.close()
