"""Texts for the agent from whatever the program passes."""

from __future__ import annotations

from cuspan import _guard


def utf8(value: object) -> bytes:
    """Never raises: a value whose text cannot be made is named by its type."""
    return value.encode("utf-8", "replace") if type(value) is str else _utf8_of_other(value)


def _utf8_of_other(value: object) -> bytes:
    try:
        if issubclass(type(value), str):
            return str.encode(value, "utf-8", "replace")  # type: ignore[arg-type]
        if isinstance(value, (bytes, bytearray)):
            return bytes.decode(bytes(value), "utf-8", "replace").encode()
        return str.encode(str(value), "utf-8", "replace")
    except _guard.NO_ROOM:
        return b"?"
    except BaseException as error:
        _guard.keep(error, "str() of a value", is_of_value=True)
        return f"<{_guard.name_of_type(value)}>".encode("utf-8", "replace")
