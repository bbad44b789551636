"""Tool calls in text: written, read, constrained."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.base import Call, ToolSpec, argument_problem
from harness.calls import call_text, parse_call, reply_schema, usage_line
from tests.harness.support import ENV, JSON, LAW, TASK

TOOLS = ENV.open(TASK).tools
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=4)
PROSE = st.text(st.characters(codec="utf-8", exclude_characters="{"), max_size=40)


def parsed(text: str) -> tuple[str, dict[str, Any], str] | None:
    found = parse_call(text)
    return found and (found.call.name, dict(found.call.arguments), found.state)


class TestReading:
    @LAW
    @given(st.text(), ARGUMENTS, PROSE, st.text(max_size=40))
    def test_what_is_written_is_read(
        self, name: str, arguments: dict[str, Any], before: str, after: str
    ) -> None:
        call = Call(name, arguments)
        found = parse_call(before + call_text(call) + after)
        assert found is not None
        assert found.call == call
        assert found.state == "object"
        assert json.loads(found.arguments_raw) == arguments

    @LAW
    @given(st.text(), ARGUMENTS, st.integers(0, 4))
    def test_both_spellings_and_any_layout_are_read(
        self, name: str, arguments: dict[str, Any], indent: int
    ) -> None:
        for names in (("tool", "args"), ("name", "arguments"), ("tool", "arguments")):
            text = json.dumps(dict(zip(names, (name, arguments), strict=True)), indent=indent)
            assert parsed(text) == (name, arguments, "object")

    @LAW
    @given(st.text(st.sampled_from('{}[]":,\\ tolnamergsu10\n'), max_size=60) | st.text())
    def test_any_text_is_a_call_or_none(self, text: str) -> None:
        found = parse_call(text)
        assert found is None or text.count("{") > 0

    @LAW
    @given(ARGUMENTS, st.data())
    def test_a_call_cut_short_is_none(self, arguments: dict[str, Any], data: st.DataObject) -> None:
        text = call_text(Call("search", arguments))
        cut = data.draw(st.integers(0, len(text) - 1))
        found = parse_call(text[:cut])
        assert found is None or found.call.name != "search"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", None),
            ("I would search first.", None),
            ("{}", None),
            ("[]", None),
            ('"tool"', None),
            ('{"tool": "scan"', None),
            ("{'tool': 'scan'}", None),
            ('{"tool": 5, "args": {}}', None),
            ('{"tool": null, "args": {}}', None),
            ('{"args": {"pattern": "x"}}', None),
            ('{"tool": "scan"}', ("scan", {}, "null")),
            ('{"tool": "scan", "args": null}', ("scan", {}, "null")),
            ('{"tool": "a", "args": []}', ("a", {"arguments": []}, "non_object")),
            ('{"tool": "a", "args": ["x"]}', ("a", {"arguments": ["x"]}, "non_object")),
            ('{"tool": "a", "args": "{}"}', ("a", {"arguments": "{}"}, "non_object")),
            ('{"tool": "a", "args": 0}', ("a", {"arguments": 0}, "non_object")),
            ('{"tool": "a", "args": false}', ("a", {"arguments": False}, "non_object")),
            ('{"name": "a", "arguments": {"x": 1}}', ("a", {"x": 1}, "object")),
            ('```json\n{"tool": "a", "args": {"x": 1}}\n```', ("a", {"x": 1}, "object")),
            ('{ \n "tool": "a", "args": {}}', ("a", {}, "object")),
            ('{x} {"tool": "a", "args": {}}', ("a", {}, "object")),
            ('{"note": 1} {"tool": "a", "args": {}}', ("a", {}, "object")),
            ('{"tool": "a", "args": {}} {"tool": "b", "args": {}}', ("a", {}, "object")),
            ('{"call": {"tool": "a", "args": {}}}', ("a", {}, "object")),
            ('[{"tool": "a", "args": {}}]', ("a", {}, "object")),
            ('{"tool": "a", "args": {"q": "{\\"tool\\": \\"b\\"}"}}',
             ("a", {"q": '{"tool": "b"}'}, "object")),
            ('{"tool": "a", "args": {"x": {"tool": "b", "args": {}}}}',
             ("a", {"x": {"tool": "b", "args": {}}}, "object")),
            ('{"tool": "a", "args": {"x": 1}, "args": {"x": 2}}', ("a", {"x": 2}, "object")),
            ('{"tool": "a", "args": {"x": "\\ud83d\\ude00"}}', ("a", {"x": "😀"}, "object")),
        ],
    )  # fmt: skip
    def test_by_example(self, text: str, expected: tuple[str, dict[str, Any], str] | None) -> None:
        assert parsed(text) == expected

    @pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", '"\\ud800"', "1" * 5_000])
    def test_what_cannot_be_recorded_is_no_call(self, value: str) -> None:
        """Such a value would pass here and break the log, or the JSON column, much later."""
        assert parse_call(f'{{"tool": "a", "args": {{"x": {value}}}}}') is None

    @pytest.mark.parametrize("opening", ['{"a":', "[", '{"tool": "x", "args": [', '{"a": "'])
    def test_deep_nesting_is_no_call(self, opening: str) -> None:
        assert parse_call("{" + opening * 5_000) is None

    @pytest.mark.timeout(30)
    def test_a_long_reply_takes_no_long_time(self) -> None:
        assert parse_call("{" * 3_000_000) is None
        assert parse_call("x" * 3_000_000 + '{"tool": "scan"}') is not None


class TestWriting:
    def test_a_call_is_one_line_and_keeps_letters(self) -> None:
        text = call_text(Call("search", {"pattern": "Zoë\n"}))
        assert text == '{"tool": "search", "args": {"pattern": "Zoë\\n"}}'

    def test_usage_shows_required_arguments_only(self) -> None:
        assert [usage_line(tool) for tool in TOOLS] == [
            '{"tool": "scan", "args": {}}',
            '{"tool": "search", "args": {"pattern": "text"}}',
            '{"tool": "read_lines", "args": {"start": 1, "end": 1}}',
            '{"tool": "submit", "args": {"answer": "text"}}',
        ]

    def test_usage_is_a_valid_call_whatever_the_types(self) -> None:
        kinds = ["string", "integer", "number", "boolean", "array", "object"]
        tool = ToolSpec(
            "all",
            "",
            {
                "type": "object",
                "properties": {kind: {"type": kind} for kind in kinds},
                "required": kinds,
                "additionalProperties": False,
            },
        )
        found = parse_call(usage_line(tool))
        assert found is not None
        assert argument_problem(tool, found.call.arguments) is None


class TestSchema:
    SCHEMA = jsonschema.Draft202012Validator(reply_schema(TOOLS, 10))

    def test_it_is_a_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(reply_schema(TOOLS, 10))

    @LAW
    @given(st.data())
    def test_it_accepts_exactly_the_valid_calls(self, data: st.DataObject) -> None:
        """Valid: a known tool, its required arguments of their types and no others, short texts."""
        name = data.draw(st.sampled_from([*(tool.name for tool in TOOLS), "delete"]))
        names = st.sampled_from(["pattern", "answer", "start", "end", "file", "surplus"])
        values = st.text(max_size=14) | st.integers(-5, 5) | JSON
        arguments = data.draw(st.dictionaries(names, values, max_size=3))
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        valid = (
            tool is not None
            and argument_problem(tool, arguments) is None
            and set(arguments) == set(tool.parameters["required"])
            and all(len(v) <= 10 for v in arguments.values() if isinstance(v, str))
        )
        assert self.SCHEMA.is_valid({"tool": name, "args": arguments}) == valid

    @LAW
    @given(
        st.text(max_size=10), st.integers(), st.integers(),
        st.sampled_from(["scan", "search", "read_lines", "submit"]),
    )  # fmt: skip
    def test_it_accepts_every_valid_call(self, text: str, start: int, end: int, name: str) -> None:
        arguments = {
            "scan": {},
            "search": {"pattern": text},
            "read_lines": {"start": start, "end": end},
            "submit": {"answer": text},
        }[name]
        assert self.SCHEMA.is_valid({"tool": name, "args": arguments})

    @pytest.mark.parametrize(
        "reply",
        [
            None, [], "scan", {}, {"tool": "scan"}, {"args": {}}, {"tool": "scan", "args": None},
            {"tool": "scan", "args": {}, "why": "x"}, {"name": "scan", "arguments": {}},
            {"tool": "search", "args": {"pattern": "12345678901"}},
            {"tool": "read_lines", "args": {"start": 1, "end": 2, "file": "a"}},
        ],
    )  # fmt: skip
    def test_it_refuses_everything_else(self, reply: object) -> None:
        assert not self.SCHEMA.is_valid(reply)
