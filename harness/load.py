"""Turn a bundle's middleware files into components.

The code runs in this process: load only bundles whose code you would run yourself.
"""

import copy
import inspect
import sys
from types import ModuleType

from harness.bundle import Bundle
from harness.hooks import Middleware
from harness.spec import Part
from warehouse.errors import BadBundle, HarnessCrash
from warehouse.ids import bare


def load_middleware(bundle: Bundle) -> list[tuple[str, Middleware]]:
    """Return fresh components in the bundle's order, each with its file.

    Raises:
        BadBundle: a file does not compile or import, or does not define exactly one `Middleware`.
    """
    return [(part.file, _component(bundle, part)) for part in bundle.spec.middleware]


def _component(bundle: Bundle, part: Part) -> Middleware:
    kind = _middleware_class(bundle, part.file)
    try:
        return kind(copy.deepcopy(part.parameters))
    except (Exception, SystemExit) as crash:
        raise HarnessCrash(f"{part.file}: {type(crash).__name__}: {crash}") from crash


def _middleware_class(bundle: Bundle, path: str) -> type[Middleware]:
    name = f"instar_bundle_{bare(bundle.id)}/{path}"
    module = sys.modules.get(name) or _module(name, path, bundle.text(path))
    found = {
        value
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Middleware) and value.__module__ == name
    }
    if len(found) != 1:
        raise BadBundle(f"{path!r} must define exactly one Middleware class; it has {len(found)}")
    return found.pop()


def _module(name: str, path: str, source: str) -> ModuleType:
    module = ModuleType(name)
    try:
        code = compile(source, path, "exec")
    except SyntaxError as broken:
        raise BadBundle(f"{path}: line {broken.lineno}: {broken.msg}") from broken
    except Exception as broken:
        raise BadBundle(f"{path} does not compile: {broken}") from broken
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except (Exception, SystemExit) as crash:
        del sys.modules[name]
        raise BadBundle(f"{path}: {type(crash).__name__} on import: {crash}") from crash
    return module
