"""One ClickHouse database behind a narrow door: packaged queries in, rows out, errors in the project's own groups.

Each file of `ledger/sql` is one query; a first line `-- needs: a, b` names the queries that it reads as tables, and
`assembled` puts those in front of it; a line `-- recursive` says that it also reads itself. The same text runs on the
in-process engine and on a server.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError

from contracts.errors import Breach, Refused, Transient
from ledger.reports import Period

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

Value = str | int | list[str] | None
Row = Mapping[str, Value]


class Engine:
    """A connection to one database, with the ledger's tables in it.

    Raises `Transient` when a server does not answer, `Breach` when a statement fails otherwise.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        for statement in _text("tables").split(";\n"):
            if statement.strip():
                self.run(statement)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def run(self, statement: str) -> None:
        """Run a statement that answers nothing."""
        with _translated():
            self._client.command(statement)

    def insert(self, table: str, columns: Sequence[str], lines: Sequence[bytes]) -> None:
        """Insert JSON lines; the engine parses them."""
        with _translated():
            self._client.raw_insert(table, column_names=columns, insert_block=b"\n".join(lines), fmt="JSONEachRow")

    def query(self, text: str, parameters: Mapping[str, Value]) -> list[Row]:
        """The rows of a query, by the names of their columns."""
        with _translated():
            return list(self._client.query(text, parameters=dict(parameters)).named_results())

    def report(self, name: str, period: Period, more: Mapping[str, Value] | None = None) -> list[Row]:
        """The rows of a packaged query for a period."""
        bounds: dict[str, Value] = {
            "period_from": period.from_ms,
            "period_to": period.to_ms,
            "known_by": period.known_by,
        }
        return self.query(assembled(name), {**bounds, **(more or {})})


def embedded(directory: Path, *, database: str) -> Engine:
    """The in-process engine on a directory, made when it is missing: for one process, with any number of databases.

    Raises `Refused` when another process holds the directory, or this process holds another one.
    """
    if not (database.isidentifier() and database.isascii()):
        raise Refused(f"{database!r} cannot name a database")
    directory.parent.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.closing(clickhouse_connect.get_client(interface="chdb", path=str(directory))) as client:
            client.command(f"CREATE DATABASE IF NOT EXISTS {database}")
            return Engine(clickhouse_connect.get_client(interface="chdb", path=str(directory), database=database))
    except ClickHouseError as error:
        raise Refused(f"the ledger {directory.name} cannot be opened: {_first_line(error)}") from error


@functools.cache
def assembled(name: str) -> str:
    """One packaged query with the queries that it needs in front of it."""
    order: dict[str, str] = {}

    def collect(part: str) -> None:
        text = _text(part)
        first = text.partition("\n")[0]
        if first.startswith("-- needs: "):
            for needed in first.removeprefix("-- needs: ").split(", "):
                if needed not in order:
                    collect(needed)
        order[part] = text

    collect(name)
    query = order.pop(name)
    tables = ",\n".join(f"{part} AS (\n{text})" for part, text in order.items())
    recursive = any("\n-- recursive\n" in text for text in order.values())
    return f"WITH {'RECURSIVE' if recursive else ''}\n{tables}\n{query}" if tables else query


def whole(value: Value) -> int:
    """A whole number of a row."""
    if not isinstance(value, int):
        raise Breach(f"the ledger answered {value!r} where a whole number belongs")
    return value


def _text(name: str) -> str:
    return resources.files("ledger").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise Transient(f"ClickHouse does not answer: {_first_line(error)}") from error
    except ClickHouseError as error:
        raise Breach(f"ClickHouse refuses a statement of the ledger: {_first_line(error)}") from error
