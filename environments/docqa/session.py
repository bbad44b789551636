"""One attempt at one docqa task: four tools over the task's files."""

from collections.abc import Callable, Mapping, Sequence

from environments.base import Call, Observation, ToolSpec, argument_problem, tool_spec
from environments.docqa.world import Draft

SHOWN_MATCHES = 6
SHOWN_LINES = 10


class DocSession:
    """See `environments.base.Session`. Pure: no clock, no randomness, nothing outside the draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.delivered: str | None = None
        self.seen: set[str] = set()
        self._run: dict[str, Callable[..., Observation]] = {
            "scan": self.scan,
            "search": self.search,
            "read_lines": self.read_lines,
            "submit": self.submit,
        }

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """See `Session.tools`."""
        return _TOOLS

    def call(self, call: Call) -> Observation:
        """See `Session.call`."""
        if self.delivered is not None:
            return Observation("error: an answer was already submitted", "already_submitted")
        if call.name not in self._run:
            known = ", ".join(self._run)
            return Observation(f"error: no tool {call.name!r}; tools are {known}", "unknown_tool")
        problem = argument_problem(_BY_NAME[call.name], call.arguments)
        if problem:
            return Observation(f"error: {problem}", "bad_arguments")
        return self._run[call.name](**call.arguments)

    def scan(self) -> Observation:
        """Line count and first lines of every file."""
        shown = []
        for name, lines in self.draft.files.items():
            shown.append(f"{name}: {len(lines)} lines")
            shown += self._show(name, range(min(3, len(lines))))
        return Observation("\n".join(shown))

    def search(self, pattern: str) -> Observation:
        """Lines that contain the text."""
        wanted = pattern.strip().lower()
        if not wanted:
            return Observation("error: the pattern is empty", "empty_pattern")
        hits = [
            (name, i)
            for name, lines in self.draft.files.items()
            for i, line in enumerate(lines)
            if wanted in line.lower()
        ]
        head = f"{len(hits)} matches for '{pattern.strip()}'"
        if not hits:
            return Observation(head, "no_match")
        shown = [line for name, i in hits[:SHOWN_MATCHES] for line in self._show(name, [i])]
        more = len(hits) > SHOWN_MATCHES
        tail = [f"... {len(hits) - SHOWN_MATCHES} more"] if more else []
        return Observation("\n".join([f"{head}:", *shown, *tail]), truncated=more)

    def read_lines(self, start: int, end: int, file: str = "") -> Observation:
        """Read lines of a file (the first one if none is named)."""
        start, end = int(start), int(end)  # to JSON, 1.0 is an integer too
        name = file or next(iter(self.draft.files))
        if name not in self.draft.files:
            known = ", ".join(self.draft.files)
            return Observation(f"error: no file {name!r}; files are {known}", "unknown_file")
        lines = self.draft.files[name]
        if not 1 <= start <= end or start > len(lines):
            return Observation(f"error: {name} has lines 1 to {len(lines)}", "bad_range")
        stop = min(end, len(lines))
        cut = stop - start + 1 > SHOWN_LINES
        shown = self._show(name, range(start - 1, min(stop, start - 1 + SHOWN_LINES)))
        tail = [f"... stopped after {SHOWN_LINES} lines"] if cut else []
        return Observation("\n".join([*shown, *tail]), truncated=cut)

    def submit(self, answer: str) -> Observation:
        """Final answer."""
        self.delivered = answer.strip()
        return Observation("submitted")

    def _show(self, name: str, rows: Sequence[int] | range) -> list[str]:
        lines = self.draft.files[name]
        mark = f"{name}:" if len(self.draft.files) > 1 else ""
        self.seen.update(lines[i] for i in rows)
        return [f"{mark}L{i + 1}: {lines[i]}" for i in rows]


_TOOLS = (
    tool_spec(DocSession.scan),
    tool_spec(DocSession.search),
    tool_spec(DocSession.read_lines),
    tool_spec(DocSession.submit, delivers=True),
)
_BY_NAME: Mapping[str, ToolSpec] = {tool.name: tool for tool in _TOOLS}
