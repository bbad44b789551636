"""Templates and worked examples as messages."""

import pytest
import yaml

from harness.bundle import Bundle
from harness.messages import ChatMessage
from harness.render import examples, opening, render
from tests.harness.support import ENV, SEED, TASK, with_spec
from warehouse.errors import BadBundle

TOOLS = ENV.open(TASK).tools
EXAMPLES = [
    [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "A."}],
    [{"role": "user", "content": "R?"}, {"role": "assistant", "content": "B."}],
]


def template(text: str) -> Bundle:
    return SEED.edited({"prompts/task.md": text})


def with_examples(loaded: object, text: str | None = None) -> Bundle:
    files = {"policies/shown.yaml": yaml.safe_dump(loaded) if text is None else text}
    return with_spec(SEED.edited(files), examples=["policies/shown.yaml"])


class TestRender:
    def test_values_are_filled_in_and_outer_newlines_dropped(self) -> None:
        assert render(template("\n\nQ: {{ prompt }}\n\n"), "prompts/task.md", prompt="<é>") == (
            "Q: <é>"
        )

    def test_what_is_filled_in_is_no_template(self) -> None:
        assert render(SEED, "prompts/task.md", prompt="{{ 1 + 1 }}") == "Question: {{ 1 + 1 }}"

    @pytest.mark.parametrize(
        ("text", "part"),
        [
            ("{{ prompt", "TemplateSyntaxError"),
            ("{% if %}", "TemplateSyntaxError"),
            ("{{ nothing }}", "'nothing' is undefined"),
            ("{{ prompt.nothing }}", "has no attribute 'nothing'"),
            ("{{ prompt | nothing }}", "No filter named 'nothing'"),
            ("{% include 'other.md' %}", "TypeError"),
            ("{{ prompt + 1 }}", "TypeError"),
            ("{{ 1 // 0 }}", "ZeroDivisionError"),
            ("{% for i in range(10 ** 9) %}x{% endfor %}", "OverflowError"),
            ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
            ("{{ ''.__class__.__mro__ }}", "SecurityError"),
        ],
    )
    def test_a_broken_template_names_its_file(self, text: str, part: str) -> None:
        with pytest.raises(BadBundle, match=r"^prompts/task\.md: ") as refusal:
            render(template(text), "prompts/task.md", prompt="?")
        assert part in str(refusal.value)

    def test_a_missing_template_is_named(self) -> None:
        with pytest.raises(BadBundle, match=r"no file 'prompts/none\.md'"):
            render(SEED, "prompts/none.md")


class TestOpening:
    def test_it_lists_the_tools(self) -> None:
        assert opening(SEED, TOOLS) == ChatMessage(
            "system",
            "You solve a task by calling tools. Reply with one JSON object and nothing else.\n"
            "Tools:\n"
            '{"tool": "scan", "args": {}} - Line count and first lines of every file\n'
            '{"tool": "search", "args": {"pattern": "text"}} - Lines that contain the text\n'
            '{"tool": "read_lines", "args": {"start": 1, "end": 1}}'
            " - Read lines of a file (the first one if none is named)\n"
            '{"tool": "submit", "args": {"answer": "text"}} - Final answer',
        )

    def test_it_may_name_the_budget(self) -> None:
        bundle = SEED.edited({"prompts/system.md": "{{ max_turns }} turns, {{ tools | length }}"})
        assert opening(bundle, TOOLS).content == "6 turns, 4"

    def test_lessons_follow_in_their_order_as_they_are(self) -> None:
        files = {"lessons/a.md": "\nFirst {{ x }}.\n", "lessons/b.md": "Second."}
        bundle = with_spec(SEED.edited(files), lessons=["lessons/b.md", "lessons/a.md"])
        assert opening(bundle, TOOLS).content == (
            f"{opening(SEED, TOOLS).content}\n\nSecond.\n\nFirst {{{{ x }}}}."
        )


class TestExamples:
    def test_none_without_files(self) -> None:
        assert examples(SEED) == []

    def test_they_become_messages_in_order(self) -> None:
        assert examples(with_examples(EXAMPLES)) == [
            ChatMessage("user", "Q?"),
            ChatMessage("assistant", "A."),
            ChatMessage("user", "R?"),
            ChatMessage("assistant", "B."),
        ]

    @pytest.mark.parametrize(
        ("loaded", "part"),
        [
            (None, "not a list of examples"),
            ({"user": "x"}, "not a list of examples"),
            (EXAMPLES[0], "not a list of examples"),
            ([[{"role": "user"}]], "content"),
            ([[{"role": "user", "content": 5}]], "content"),
            ([[{"role": "user", "content": "x", "more": 1}]], "more"),
            ([[{"role": "system", "content": "x"}]], "role 'system'"),
        ],
    )
    def test_a_broken_file_is_named(self, loaded: object, part: str) -> None:
        with pytest.raises(BadBundle, match=r"^policies/shown\.yaml: ") as refusal:
            examples(with_examples(loaded))
        assert part in str(refusal.value)

    @pytest.mark.parametrize("text", ["- [", "2001-99-99", "!!int x", "[" * 5_000])
    def test_what_is_no_yaml_is_refused(self, text: str) -> None:
        with pytest.raises(BadBundle, match="not a list of examples"):
            examples(with_examples(None, text))
