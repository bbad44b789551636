"""The tree of errors, and the text that draws it."""

import inspect

from warehouse import errors


def drawn() -> dict[str, str]:
    """Return each error's parent as the module's docstring draws it."""
    path: list[str] = []
    parents = {}
    for line in inspect.getdoc(errors).splitlines():
        mark, _, rest = line.strip().partition(" ")
        if mark in {"*", "+", "-"}:
            path = [*path[: "*+-".index(mark)], rest.split()[0]]
            parents[path[-1]] = path[-2] if len(path) > 1 else "Exception"
    return parents


def test_docstring_draws_the_tree():
    actual = {
        name: cls.__base__.__name__
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if cls.__module__ == errors.__name__
    }
    assert drawn() == actual
