"""A ClickHouse server as the engine, over its HTTP interface. docs/fleet-clickhouse.md describes its tables."""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import os
import re
import socket
import ssl
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from cuspan.fleet._columns import VERSION
from cuspan.fleet._progress import Progress
from cuspan.fleet._sql import CLICKHOUSE
from cuspan.fleet._store import Filters, Problem

Answered = TypeVar("Answered")
PASSWORD = "CUSPAN_CLICKHOUSE_PASSWORD"
_TIMEOUT_S = 30  # to connect, and without an answer to a short question
_QUERY_TIMEOUT_S = 3600
_SETTINGS = {
    **CLICKHOUSE.settings,
    "output_format_json_quote_64bit_integers": "0",
    "output_format_json_quote_decimals": "0",
    "cancel_http_readonly_queries_on_client_close": "1",
}
_REMEDIES = {
    "AUTHENTICATION_FAILED": f"set the password with {PASSWORD} or --password-file, and the user in the address",
    "ACCESS_DENIED": "grant SELECT on its tables to this user",
    "UNKNOWN_DATABASE": "create its tables: deploy/fleet/clickhouse",
    "UNKNOWN_TABLE": "create its tables: deploy/fleet/clickhouse",
    "READONLY": "give the user a profile with readonly = 2, because queries need settings",
    "MEMORY_LIMIT_EXCEEDED": "ask for a shorter range of time with --since and --until",
    "TIMEOUT_EXCEEDED": "ask for a shorter range of time with --since and --until",
}


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    user: str
    database: str
    is_secure: bool
    ca: str | None  # a file of certificates; None: those of the system

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse(url: str) -> Address:
    """clickhouse://[USER@]HOST[:PORT][/DATABASE][?secure=0|1&ca=FILE]. TLS is the default for other machines."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Problem(f"{_without_password(url)} is not an address: {error}") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme not in ("clickhouse", "clickhouses") or not host or set(options) - {"secure", "ca"}:
        raise Problem(
            f"{_without_password(url)} is not an address; write clickhouse://[USER@]HOST[:PORT][/DATABASE][?secure=0&ca=FILE]"
        )
    if parts.password is not None:
        raise Problem(
            f"the address has a password, which other users of this machine can see; set {PASSWORD} or --password-file"
        )
    secure = options.get("secure", "1" if parts.scheme == "clickhouses" or not _is_this_machine(host) else "0")
    is_secure = secure not in ("0", "false", "no")
    database = unquote(parts.path.strip("/")) or "cuspan"
    return Address(
        host,
        port or (8443 if is_secure else 8123),
        unquote(parts.username or "default"),
        database,
        is_secure,
        options.get("ca"),
    )


def _without_password(url: str) -> str:
    return re.sub(r"//([^/@:]*):[^/@]*@", r"//\1:***@", url)


def read_password(path: str | Path | None) -> str:
    if path is None:
        return os.environ.get(PASSWORD, "")
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Problem(f"cannot read {path}: {reason}; name the file with the password of the server") from None


_ESCAPES = {"\\": "\\\\", "\0": "\\0", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def _escaped(text: str) -> str:
    """As a field of tab-separated values, which is how the server reads parameters."""
    return "".join(_ESCAPES.get(character, character) for character in text)


def _quoted(text: str) -> str:
    return "'" + _escaped(text).replace("'", "\\'") + "'"


def parameter(value: Any) -> tuple[str, str]:
    """The type of a parameter, and its text."""
    if isinstance(value, bool) or value is None:
        return ("Bool", str(value).lower()) if value is not None else ("Nullable(String)", "\\N")
    if isinstance(value, int):
        return "Int64", str(value)
    if isinstance(value, float):
        return "Float64", repr(value)
    if isinstance(value, (list, tuple)):
        return "Array(String)", "[" + ",".join(_quoted(str(item)) for item in value) + "]"
    return "String", _escaped(str(value))


def with_parameters(text: str, values: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """$name becomes {name:Type}, whose value goes beside the query."""
    texts: dict[str, str] = {}

    def placeholder(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in values:
            return found.group()
        kind, texts[name] = parameter(values[name])
        return f"{{{name}:{kind}}}"

    return re.sub(r"\$(\w+)", placeholder, text), texts


class Failure(Exception):
    """An error of the server, in its words."""


class Result:
    """The rows of a query of one's own."""

    def __init__(self, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
        self.columns = columns
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows[0] if self._rows else None

    def df(self) -> Any:
        """A DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self.columns)


class ClickHouse:
    """One database of a server."""

    dialect = CLICKHOUSE

    def __init__(self, url: str, password: str) -> None:
        self.address = parse(url)
        self._password = password
        self._query_id = ""
        self.progress = Progress(self._percent)
        self._check_version()

    def close(self) -> None:
        pass

    def interruptible(self, work: Callable[[], Answered]) -> Answered:
        """Reading an answer can be interrupted, and the server then ends the query."""
        return work()

    # --- HTTP ---

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if not self.address.is_secure:
            return http.client.HTTPConnection(self.address.host, self.address.port, timeout=timeout)
        try:
            context = ssl.create_default_context(cafile=self.address.ca)
        except (OSError, ssl.SSLError) as error:
            raise Problem(
                f"cannot read {self.address.ca}: {error}; name a file of PEM certificates with ?ca="
            ) from None
        return http.client.HTTPSConnection(self.address.host, self.address.port, timeout=timeout, context=context)

    def _post(self, text: str, options: dict[str, str], timeout: float) -> bytes:
        connection = self._connection(timeout)
        login = base64.b64encode(f"{self.address.user}:{self._password}".encode()).decode()
        headers = {"Authorization": f"Basic {login}"}
        try:
            connection.request("POST", "/?" + urlencode(options), text.encode("utf-8"), headers)
            response = connection.getresponse()
            body = response.read()
        except ssl.SSLCertVerificationError as error:
            raise Problem(
                f"cannot trust {self.address}: {error.verify_message}; name the certificate of its authority with "
                "?ca=FILE"
            ) from None
        except socket.timeout:
            raise Problem(
                f"{self.address} does not answer for {timeout:.0f} s; check the server, or ask for a shorter time"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            hint = "" if self.address.is_secure else "; ?secure=1 uses TLS"
            raise Problem(
                f"cannot connect to ClickHouse at {self.address} ({reason}); check the address and the server{hint}"
            ) from None
        finally:
            connection.close()
        if response.status != 200:
            raise Failure(body.decode("utf-8", "replace").strip() or f"HTTP status {response.status}")
        return body

    def _query(self, text: str, values: dict[str, Any], timeout: float = _QUERY_TIMEOUT_S) -> Result:
        text, texts = with_parameters(text, values)
        options = {**_SETTINGS, "default_format": "JSONCompact", "wait_end_of_query": "1", "query_id": self._query_id}
        options["param_database"] = self.address.database
        options.update({f"param_{name}": value for name, value in texts.items()})
        body = self._post(text, options, timeout)
        try:
            answer = json.loads(body.decode("utf-8", "replace"))
            reals = [i for i, column in enumerate(answer["meta"]) if "Float" in column["type"]]
            for row in answer["data"]:
                for i in reals:  # JSON has no 1.0
                    row[i] = None if row[i] is None else float(row[i])
            return Result([column["name"] for column in answer["meta"]], [tuple(row) for row in answer["data"]])
        except (ValueError, KeyError, TypeError):
            raise Problem(f"{self.address} does not answer like ClickHouse; check the address: {body[:60]!r}") from None

    def _percent(self) -> float | None:
        """Of the query that runs. Users without access to the list of queries see the seconds."""
        asked = "SELECT 100. * read_rows / greatest(total_rows_approx, 1) FROM system.processes WHERE query_id = $id"
        text, texts = with_parameters(asked, {"id": self._query_id})
        try:
            body = self._post(text, {"param_id": texts["id"], "default_format": "TSV"}, _TIMEOUT_S)
            return min(float(body), 100)
        except (Problem, Failure, ValueError):
            return None

    # --- questions ---

    def _check_version(self) -> None:
        try:
            result = self._query("SELECT max(version) FROM {database:Identifier}.schema_version", {}, _TIMEOUT_S)
        except Failure as failure:
            raise Problem(self.problem_of(failure)) from None
        version = result.fetchall()[0][0]
        if version != VERSION:
            raise Problem(
                f"{self.address} has version {version} of the schema, and this cuspan reads version {VERSION}; "
                "install the release that made the tables"
            )

    def has_spans(self, _filters: Filters) -> bool:
        return True

    def answer(
        self, text: str, values: dict[str, Any], _filters: Filters, _each: str
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        self._query_id = str(uuid.uuid4())
        with self.progress:
            result = self._query(text, values)
        return result.columns, result.fetchall()

    def sql(self, text: str, values: dict[str, Any]) -> Result:
        return self._query(text, values)

    def problem_of(self, error: Exception) -> str | None:
        """The server's text; None: the error is not the server's."""
        if not isinstance(error, Failure):
            return None
        text = " ".join(str(error).split())
        name = re.search(r"\(([A-Z_]{4,})\)", text)
        message = re.sub(r"^Code: \d+\. DB::Exception: (Received from \S+ DB::Exception: )?", "", text)
        message = message if len(message) <= 200 else message[:199] + "…"
        remedy = _REMEDIES.get(name.group(1)) if name else None
        return f"{self.address}: {message}{f'; {remedy}' if remedy else ''}"

    def note_of_repeats(self, _filters: Filters) -> str | None:
        """The view of the spans leaves them out."""
        return None
