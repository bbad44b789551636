"""Tools derived from functions, and the check of their arguments."""

import jsonschema
import pytest

from environments.base import Observation, ToolSpec, argument_problem, tool_spec


def weigh(session: object, thing: str, grams: int = 1) -> None:
    """Weigh a thing.

    Nobody sees this line.
    """


WEIGH = tool_spec(weigh)


def test_a_schema_follows_from_the_signature() -> None:
    assert (
        ToolSpec(
            name="weigh",
            description="Weigh a thing",
            parameters={
                "type": "object",
                "properties": {
                    "thing": {"type": "string"},
                    "grams": {"type": "integer", "default": 1},
                },
                "required": ["thing"],
                "additionalProperties": False,
            },
        )
        == WEIGH
    )
    jsonschema.Draft202012Validator.check_schema(dict(WEIGH.parameters))


def test_a_tool_without_arguments_has_an_empty_schema() -> None:
    def ring() -> None:
        """Ring."""

    assert tool_spec(ring, delivers=True) == ToolSpec(
        "ring",
        "Ring",
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        delivers=True,
    )


def test_the_function_format_is_openais() -> None:
    assert WEIGH.as_function() == {
        "type": "function",
        "function": {
            "name": "weigh",
            "description": "Weigh a thing",
            "parameters": WEIGH.parameters,
        },
    }


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"thing": "a"}, None),
        ({"thing": "a", "grams": 2}, None),
        ({}, "'thing' is a required property"),
        ({"thing": 1}, "thing: 1 is not of type 'string'"),
        ({"thing": None}, "thing: None"),
        ({"thing": "a", "grams": "2"}, "grams: '2' is not of type 'integer'"),
        ({"thing": "a", "grams": True}, "grams: True is not of type 'integer'"),
        ({"thing": "a", "grams": 2.5}, "grams: 2.5"),
        ({"thing": "a", "more": 1}, "'more' was unexpected"),
    ],
)
def test_the_first_problem_is_named(arguments: dict[str, object], part: str | None) -> None:
    problem = argument_problem(WEIGH, arguments)
    assert problem is None if part is None else part in (problem or "")


def test_an_observation_is_ok_without_an_error() -> None:
    assert Observation("x").ok
    assert not Observation("x", "bad").ok
