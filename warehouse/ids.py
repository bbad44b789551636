"""Content-addressed identity: the same content has the same id, everywhere and for ever."""

import hashlib
import json
import math
from collections.abc import Mapping

PREFIX = "b2:"


def canonical_json(value: object) -> str:
    """Serialise `value` the one way that is hashed: sorted keys, no spaces, UTF-8 kept.

    JSON has no NaN and no infinities; they become the strings "NaN", "Infinity" and "-Infinity".
    """
    try:
        return _dumps(value)
    except ValueError:
        return _dumps(_named(value))


def bytes_id(data: bytes) -> str:
    """Return the 128-bit tagged hash of `data`."""
    return PREFIX + hashlib.blake2b(data, digest_size=16).hexdigest()


def content_id(value: object) -> str:
    """Return the 128-bit tagged hash of `value`'s canonical JSON."""
    return bytes_id(canonical_json(value).encode("utf-8", "surrogatepass"))


def files_id(files: Mapping[str, bytes]) -> str:
    """Return the id of a tree of files: a hash over its sorted (path, bytes) pairs."""
    return content_id(sorted((path, bytes_id(data)) for path, data in files.items()))


def _dumps(value: object) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _named(value: object) -> object:
    """Return `value` with every float that JSON lacks replaced by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _named(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_named(item) for item in value]
    return value


def bare(tagged: str) -> str:
    """Return `tagged` without its prefix, for file names and short displays."""
    return tagged.removeprefix(PREFIX)
