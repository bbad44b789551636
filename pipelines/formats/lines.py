"""JSON lines as they lie in a file: number, offset, length, bytes, and the value or the reason."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One physical line that is not blank. `error` says why there is no value.

    `offset` is where `raw` begins in the file: after a byte order mark, which belongs to no record.

    `repaired` tells that lone surrogate halves, which no text can hold, became U+FFFD in `value`;
    `raw` keeps them.
    """

    number: int
    offset: int
    raw: bytes
    value: Any
    error: str | None
    repaired: bool = False


def json_lines(path: Path) -> Iterator[JsonLine]:
    """Yield every line of a file that is not blank; a broken one does not stop the rest."""
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            mark = number == 1 and line.startswith(BYTE_ORDER_MARK)
            skipped = len(BYTE_ORDER_MARK) if mark else 0
            raw = line[skipped:].removesuffix(b"\n").removesuffix(b"\r")
            if raw.strip():
                yield _parsed(number, offset + skipped, raw)
            offset += len(line)


def _parsed(number: int, offset: int, raw: bytes) -> JsonLine:
    try:
        value = json.loads(raw.decode("utf-8"))
        clean = _whole(value) if b"\\ud" in raw.lower() else value
        return JsonLine(number, offset, raw, clean, None, repaired=clean != value)
    except UnicodeDecodeError as broken:
        return JsonLine(number, offset, raw, None, f"no UTF-8 text: {broken.reason}")
    except json.JSONDecodeError as broken:
        return JsonLine(
            number, offset, raw, None, f"no JSON: {broken.msg} at column {broken.colno}"
        )
    except ValueError as broken:
        return JsonLine(number, offset, raw, None, f"no JSON that can be held: {broken}")
    except RecursionError:
        return JsonLine(number, offset, raw, None, "JSON nested too deeply")


def _whole(value: Any) -> Any:  # noqa: ANN401
    """Return `value` with every lone surrogate half replaced by U+FFFD."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value
