"""Static checks: each finds what it is there for, and nothing else fails with it."""

import pytest

from harness.bundle import MANIFEST, Bundle
from harness.checks import static_checks
from tests.harness.support import ENV, SEED, TASK, with_middleware, with_spec

TOOLS = ENV.open(TASK).tools
NAMES = ["schema", "templates", "examples", "middleware"]
GOOD = "from harness.hooks import Middleware\n\nclass One(Middleware):\n    pass\n"


def failures(bundle: Bundle) -> dict[str, str]:
    found = static_checks(bundle, TOOLS)
    assert [check.name for check in found] == NAMES
    assert all(check.passed == (check.detail == "") for check in found)
    return {check.name: check.detail for check in found if not check.passed}


def test_shipped_bundles_and_components_pass() -> None:
    assert failures(SEED) == {}
    bundle = SEED
    for name in ("answer_check", "budget_nudge", "opening_search", "repeat_brake", "restate_task"):
        bundle = with_middleware(name, {}, bundle)
    assert len(bundle.spec.middleware) == 5
    assert failures(bundle) == {}


@pytest.mark.parametrize(
    ("bundle", "part"),
    [
        (SEED.edited({MANIFEST: "a: ["}), "harness.yaml: "),
        (SEED.edited({MANIFEST: "version: 1"}), "loop"),
        (with_spec(SEED, lessons=["lessons/none.md"]), "refers to ['lessons/none.md']"),
        (Bundle({}), "no file 'harness.yaml'"),
    ],
)
def test_schema_finds_a_broken_manifest(bundle: Bundle, part: str) -> None:
    """Nothing else can pass then: every other check needs the manifest."""
    found = failures(bundle)
    assert list(found) == NAMES
    assert all(part in detail for detail in found.values())


@pytest.mark.parametrize("name", ["system", "task", "result", "no_call"])
@pytest.mark.parametrize("text", ["{{ nothing }}", "{% if %}", "{{ 1 // 0 }}"])
def test_templates_finds_a_broken_template(name: str, text: str) -> None:
    found = failures(SEED.edited({f"prompts/{name}.md": text}))
    assert list(found) == ["templates"]
    assert found["templates"].startswith(f"prompts/{name}.md: ")


@pytest.mark.parametrize("branch", ["{% if ok %}{{ a }}{% endif %}", "{{ '' if ok else a }}"])
def test_templates_tries_good_and_bad_results(branch: str) -> None:
    assert list(failures(SEED.edited({"prompts/result.md": branch}))) == ["templates"]


@pytest.mark.parametrize("text", ["- [", "just words", "- - role: system\n    content: x"])
def test_examples_finds_a_broken_file(text: str) -> None:
    bundle = with_spec(SEED.edited({"policies/e.yaml": text}), examples=["policies/e.yaml"])
    found = failures(bundle)
    assert list(found) == ["examples"]
    assert "policies/e.yaml" in found["examples"]


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("def (", "line 1: "),
        ("x = 1\n  y = 2\n", "line 2: "),
        ("x = '\0'", "null bytes"),
        ("-" * 100_000 + "1", "does not compile"),
        ("import nowhere_at_all", "ModuleNotFoundError on import"),
        ("1 / 0", "ZeroDivisionError on import"),
        ("raise SystemExit(3)", "SystemExit on import"),
        ("", "exactly one Middleware class; it has 0"),
        ("class One: pass", "exactly one Middleware class; it has 0"),
        ("from harness.hooks import Middleware", "exactly one Middleware class; it has 0"),
        (GOOD + GOOD.replace("One", "Two"), "exactly one Middleware class; it has 2"),
        (
            GOOD.replace("pass", "def __init__(self, parameters):\n        raise KeyError('text')"),
            "KeyError: 'text'",
        ),
        (
            GOOD.replace("pass", "def __init__(self, parameters):\n        raise SystemExit(3)"),
            "SystemExit: 3",
        ),
    ],
)
def test_middleware_finds_code_that_does_not_load(source: str, part: str) -> None:
    found = failures(with_middleware(source))
    assert list(found) == ["middleware"]
    assert "middleware/own.py" in found["middleware"]
    assert part in found["middleware"]


def test_an_import_that_failed_fails_again() -> None:
    bundle = with_middleware("1 / 0")
    assert failures(bundle) == failures(bundle) != {}


def test_code_that_nothing_refers_to_is_not_loaded() -> None:
    assert failures(SEED.edited({"middleware/unused.py": "1 / 0"})) == {}
