"""A bundle: a harness as content-addressed files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath
from typing import Self

import yaml

from harness.spec import HarnessSpec
from warehouse.errors import BadBundle
from warehouse.ids import files_id

MANIFEST = "harness.yaml"
SURFACES: Mapping[str, str] = {
    "prompts": ".md",
    "policies": ".yaml",
    "tools": ".py",
    "middleware": ".py",
    "lessons": ".md",
}
"""The folders an edit may touch, and the only kind of file in each."""
MAX_FILE_BYTES = 200_000


@dataclass(frozen=True)
class Bundle:
    """Files by relative path. Equal files give an equal id."""

    files: Mapping[str, bytes]

    def __post_init__(self) -> None:
        """Refuse paths outside the surfaces and files that are no text."""
        for path, data in self.files.items():
            _check_path(path)
            if len(data) > MAX_FILE_BYTES:
                raise BadBundle(
                    f"{path!r}: {len(data)} bytes; at most {MAX_FILE_BYTES} are allowed"
                )
            try:
                data.decode("utf-8")
            except UnicodeDecodeError as broken:
                raise BadBundle(f"{path!r} is no UTF-8 text: {broken}") from broken

    @classmethod
    def capture(cls, folder: Path) -> Self:
        """Read a bundle from a directory.

        Raises:
            BadBundle: there is no `harness.yaml`, or a file lies outside the surfaces.
        """
        if not (folder / MANIFEST).is_file():
            raise BadBundle(f"{str(folder)!r} is no harness bundle: it has no {MANIFEST}")
        found = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        return cls(found)

    @classmethod
    def shipped(cls, name: str) -> Self:
        """Return a bundle that ships with Instar, by its folder's name in `harness/seeds`."""
        return cls.capture(Path(str(package_files("harness") / "seeds" / name.replace("-", "_"))))

    @cached_property
    def id(self) -> str:
        """The content id over sorted (path, bytes)."""
        return files_id(self.files)

    @cached_property
    def spec(self) -> HarnessSpec:
        """The parsed `harness.yaml`.

        Raises:
            BadBundle: it breaks the schema or names a file that is not there.
        """
        try:
            spec = HarnessSpec.model_validate(yaml.safe_load(self.text(MANIFEST)))
        except (yaml.YAMLError, ValueError, RecursionError) as broken:
            raise BadBundle(f"{MANIFEST}: {broken}") from broken
        missing = [path for path in spec.paths() if path not in self.files]
        if missing:
            raise BadBundle(f"{MANIFEST} refers to {missing}, which the bundle does not have")
        return spec

    def text(self, path: str) -> str:
        """Return a file's text."""
        if path not in self.files:
            raise BadBundle(f"the bundle has no file {path!r}")
        return self.files[path].decode("utf-8")

    def texts(self) -> dict[str, str]:
        """Return every file's text by path."""
        return {path: self.text(path) for path in sorted(self.files)}

    def edited(self, changes: Mapping[str, str]) -> "Bundle":
        """Return a bundle in which whole files are added or replaced."""
        return Bundle({**self.files, **{path: text.encode() for path, text in changes.items()}})

    def materialize(self, folder: Path) -> Path:
        """Write the files under `folder` and return it."""
        for path, data in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return folder


def changed_files(old: Bundle, new: Bundle) -> tuple[str, ...]:
    """Return the paths that were added, replaced or removed, sorted."""
    paths = old.files.keys() | new.files.keys()
    return tuple(sorted(p for p in paths if old.files.get(p) != new.files.get(p)))


def _check_path(path: str) -> None:
    if path == MANIFEST:
        return
    pure = PurePosixPath(path)
    # One spelling per file: "prompts//a.md" would be another key for the same place on disk.
    plain = pure.as_posix() == path and path.isprintable() and "\\" not in path
    inside = len(pure.parts) >= 2 and ".." not in pure.parts
    if not plain or not inside or SURFACES.get(pure.parts[0]) != pure.suffix:
        allowed = ", ".join(f"{folder}/*{suffix}" for folder, suffix in SURFACES.items())
        raise BadBundle(f"{path!r} lies outside a bundle's surfaces: {MANIFEST}, {allowed}")
