"""Models behind one protocol: `embedded`, `scripted:NAME` or `openai:MODEL@URL`."""

from collections.abc import Mapping
from pathlib import Path

from harness.models.embedded import EmbeddedHost
from harness.models.host import ModelHost
from harness.models.http import HttpHost
from harness.models.scripted import BEHAVIOURS, ScriptedHost
from warehouse.errors import BadInput

SPECS = "embedded, scripted:NAME or openai:MODEL@URL"


def open_host(
    spec: str, adapters: Mapping[str, Path] | None = None, in_flight: int = 0
) -> ModelHost:
    """Return the host that `spec` names; `in_flight` 0 means the host's own default.

    `adapters` are trained adapters by id; only the embedded host loads them from files.

    Raises:
        BadInput: the spec is none of `SPECS`.
    """
    kind, _, rest = spec.partition(":")
    if spec == "embedded":
        return EmbeddedHost(adapters or {}, processes=in_flight)
    if kind == "scripted" and rest in BEHAVIOURS:
        return ScriptedHost(rest, lanes=in_flight or 4)
    if kind == "scripted":
        raise BadInput(f"scripted model {rest!r}: choose one of {sorted(BEHAVIOURS)}")
    model, _, url = rest.partition("@")
    if kind == "openai" and model and url.startswith(("http://", "https://")):
        return HttpHost(model, url, lanes=in_flight or 8)
    raise BadInput(
        f"model {spec!r}: write {SPECS}, for example openai:my-model@http://host:8000/v1"
    )
