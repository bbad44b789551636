"""A bundle: which files it takes, its id, its way to disk and back, its `harness.yaml`."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.bundle import MANIFEST, MAX_FILE_BYTES, SURFACES, Bundle, changed_files
from tests.harness.support import LAW, SEED, with_spec
from warehouse.errors import BadBundle

NAME = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
PATHS = st.tuples(st.sampled_from(sorted(SURFACES)), st.lists(NAME, min_size=1, max_size=3)).map(
    lambda parts: "/".join([parts[0], *parts[1]]) + SURFACES[parts[0]]
)
FILES = st.dictionaries(PATHS, st.text().map(str.encode), max_size=6)


class TestId:
    def test_the_seed_has_a_fixed_id_whatever_the_order(self) -> None:
        backwards = Bundle(dict(reversed(SEED.files.items())))
        assert list(backwards.files) != list(SEED.files)
        assert backwards.id == SEED.id

    @LAW
    @given(FILES, st.randoms())
    def test_order_does_not_matter(self, files: dict[str, bytes], rng: object) -> None:
        shuffled = list(files.items())
        rng.shuffle(shuffled)
        assert Bundle(dict(shuffled)).id == Bundle(files).id

    @LAW
    @given(FILES, FILES)
    def test_ids_are_equal_exactly_when_files_are(
        self, one: dict[str, bytes], other: dict[str, bytes]
    ) -> None:
        assert (Bundle(one).id == Bundle(other).id) == (one == other)

    def test_a_byte_moved_between_files_changes_the_id(self) -> None:
        one = Bundle({"prompts/a.md": b"ab", "prompts/b.md": b"c"})
        other = Bundle({"prompts/a.md": b"a", "prompts/b.md": b"bc"})
        assert one.id != other.id


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        [
            "prompts/a.md", "policies/a.yaml", "tools/a.py", "middleware/a.py", "lessons/a.md",
            "prompts/deep/er/a.md", "prompts/a b.md", "prompts/ä.md", "prompts/..a.md",
            "prompts/a.b.md", MANIFEST,
        ],
    )  # fmt: skip
    def test_a_file_on_a_surface_is_taken(self, path: str) -> None:
        assert Bundle({path: b"x"}).files == {path: b"x"}

    @pytest.mark.parametrize(
        "path",
        [
            "", ".", "/", "a.md", "README.md", "scorer/a.py", "environments/base.py",
            "/prompts/a.md", "//prompts/a.md", "/etc/passwd", "../prompts/a.md",
            "prompts/../a.md", "prompts/../../a.md", "prompts/..", "prompts/x/../a.md",
            "prompts\\a.md", "prompts/a\\..\\b.md", "prompts/a.py", "prompts/a", "prompts/a.MD",
            "prompts/.md", "prompts", "prompts/", "prompts.md", "Prompts/a.md", "middleware/a.md",
            "middleware/a.pyc", "policies/a.yml", "tools/a.so", "lessons/a.txt",
            f"prompts/{MANIFEST}", f"./{MANIFEST}", "prompts/a.md/", "prompts//a.md",
            "./prompts/a.md", "prompts/./a.md", "prompts/\0.md", "prompts/a\n.md", " prompts/a.md",
        ],
    )  # fmt: skip
    def test_a_file_elsewhere_is_refused(self, path: str) -> None:
        with pytest.raises(BadBundle, match="lies outside a bundle's surfaces") as refusal:
            Bundle({path: b"x"})
        assert repr(path) in str(refusal.value)

    @LAW
    @given(st.text("a./\\ \nprmotsd", max_size=20).map("prompts/{}.md".format))
    def test_what_is_taken_stays_inside(self, path: str) -> None:
        """Every accepted path is one place below the bundle's folder, spelled one way."""
        try:
            Bundle({path: b""})
        except BadBundle:
            return
        assert Path(path).as_posix() == path
        assert (Path("/b") / path).resolve().is_relative_to("/b/prompts")

    def test_a_binary_file_is_refused(self) -> None:
        with pytest.raises(BadBundle, match=r"'prompts/a\.md' is no UTF-8 text"):
            Bundle({"prompts/a.md": b"\xff\xfe\x00"})

    def test_a_file_may_be_large_but_not_larger(self) -> None:
        assert Bundle({"lessons/a.md": b"x" * MAX_FILE_BYTES}).id
        with pytest.raises(BadBundle, match=f"'lessons/a.md': {MAX_FILE_BYTES + 1} bytes"):
            Bundle({"lessons/a.md": b"x" * (MAX_FILE_BYTES + 1)})


class TestDisk:
    def test_a_bundle_survives_the_way_to_disk_and_back(self, tmp_path: Path) -> None:
        files = {**SEED.files, "middleware/deep/a.py": "Ä = 1\r\n".encode(), "lessons/e.md": b""}
        bundle = Bundle(files)
        assert Bundle.capture(bundle.materialize(tmp_path / "new" / "place")) == bundle
        assert Bundle.capture(tmp_path / "new" / "place").id == bundle.id

    def test_compiled_leftovers_are_no_part_of_it(self, tmp_path: Path) -> None:
        SEED.materialize(tmp_path)
        (tmp_path / "middleware" / "__pycache__").mkdir(parents=True)
        (tmp_path / "middleware" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"\0")
        assert Bundle.capture(tmp_path) == SEED

    def test_a_stray_file_is_refused(self, tmp_path: Path) -> None:
        SEED.materialize(tmp_path)
        (tmp_path / "notes.txt").write_text("x")
        with pytest.raises(BadBundle, match=r"notes\.txt"):
            Bundle.capture(tmp_path)

    @pytest.mark.parametrize("name", ["empty", "nowhere"])
    def test_a_folder_without_a_manifest_is_no_bundle(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "empty").mkdir()
        with pytest.raises(BadBundle, match=r"is no harness bundle: it has no harness\.yaml"):
            Bundle.capture(tmp_path / name)

    def test_an_unknown_shipped_bundle_is_refused(self) -> None:
        with pytest.raises(BadBundle, match="nowhere"):
            Bundle.shipped("nowhere")


class TestEdits:
    def test_whole_files_are_added_and_replaced(self) -> None:
        edited = SEED.edited({"prompts/task.md": "Q: {{ prompt }}", "lessons/new.md": "ü"})
        assert edited.text("prompts/task.md") == "Q: {{ prompt }}"
        assert edited.files["lessons/new.md"] == "ü".encode()
        assert changed_files(SEED, edited) == ("lessons/new.md", "prompts/task.md")
        assert changed_files(edited, SEED) == ("lessons/new.md", "prompts/task.md")
        assert edited.id != SEED.id

    def test_the_original_stays(self) -> None:
        before = SEED.id, dict(SEED.files)
        SEED.edited({"prompts/task.md": "other"})
        assert (Bundle(SEED.files).id, dict(SEED.files)) == before

    def test_an_edit_to_the_same_content_is_none(self) -> None:
        same = SEED.edited({"prompts/task.md": SEED.text("prompts/task.md")})
        assert same.id == SEED.id
        assert changed_files(SEED, same) == ()

    def test_an_edit_outside_the_surfaces_is_refused(self) -> None:
        with pytest.raises(BadBundle, match="outside"):
            SEED.edited({"../scorer.py": ""})

    def test_texts_are_sorted_and_missing_ones_named(self) -> None:
        assert list(SEED.texts()) == sorted(SEED.files)
        with pytest.raises(BadBundle, match=r"the bundle has no file 'lessons/none\.md'"):
            SEED.text("lessons/none.md")


class TestSpec:
    def test_the_seed_is_valid(self) -> None:
        spec = SEED.spec
        assert (spec.version, spec.calls.constrained, spec.middleware) == (1, False, ())
        assert set(spec.paths()) == set(SEED.files) - {MANIFEST}

    def test_a_bundle_without_a_manifest_has_no_spec(self) -> None:
        with pytest.raises(BadBundle, match=r"no file 'harness\.yaml'"):
            _ = Bundle({"prompts/a.md": b""}).spec

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"version": 2}, "version"),
            ({"surplus": 1}, "surplus"),
            ({"loop": {"max_turns": 0}}, "loop.max_turns"),
            ({"loop": {"max_turns": 201}}, "loop.max_turns"),
            ({"loop": {"max_turns": "many"}}, "loop.max_turns"),
            ({"loop": {"max_output_tokens": 0}}, "loop.max_output_tokens"),
            ({"loop": {"tool_output_chars": 79}}, "loop.tool_output_chars"),
            ({"loop": {"surplus": 1}}, "loop.surplus"),
            ({"loop": None}, "loop"),
            ({"calls": {"constrained": "perhaps"}}, "calls.constrained"),
            ({"calls": {"argument_chars": 0}}, "calls.argument_chars"),
            ({"prompts": {"task": None}}, "prompts.task"),
            ({"prompts": {"surplus": "x"}}, "prompts.surplus"),
            ({"examples": "policies/a.yaml"}, "examples"),
            ({"lessons": [1]}, "lessons.0"),
            ({"middleware": [{"parameters": {}}]}, "middleware.0.file"),
            ({"middleware": [{"file": "a", "parameters": []}]}, "middleware.0.parameters"),
            ({"middleware": [{"file": "a", "surplus": 1}]}, "middleware.0.surplus"),
        ],
    )
    def test_a_broken_field_is_named(self, change: dict[str, object], field: str) -> None:
        with pytest.raises(BadBundle, match=r"^harness\.yaml: ") as refusal:
            _ = with_spec(SEED, **change).spec
        assert f"\n{field}\n" in str(refusal.value)

    @pytest.mark.parametrize("field", ["version", "loop", "prompts"])
    def test_a_missing_field_is_named(self, field: str) -> None:
        manifest = yaml.safe_load(SEED.text(MANIFEST))
        del manifest[field]
        with pytest.raises(BadBundle, match=rf"\n{field}\n"):
            _ = SEED.edited({MANIFEST: yaml.safe_dump(manifest)}).spec

    @pytest.mark.parametrize(
        "text",
        [
            "", "- 1", "just words", "a: [", "{", "\tversion: 1", "version: 1\nversion: !!python/x",
            "version: 2001-99-99", "version: !!int x", "\x00", "? [a]\n: 1", "*nowhere",
            "[" * 5_000,
        ],
    )  # fmt: skip
    def test_what_is_no_manifest_is_refused(self, text: str) -> None:
        with pytest.raises(BadBundle, match=r"^harness\.yaml: "):
            _ = SEED.edited({MANIFEST: text}).spec

    @pytest.mark.parametrize(
        "change",
        [
            {"prompts": {"system": "prompts/none.md"}},
            {"prompts": {"task": "prompts/none.md"}},
            {"prompts": {"result": "prompts/none.md"}},
            {"prompts": {"no_call": "prompts/none.md"}},
            {"examples": ["prompts/none.md"]},
            {"lessons": ["prompts/task.md", "prompts/none.md"]},
            {"middleware": [{"file": "prompts/none.md"}]},
        ],
    )
    def test_missing_files_are_named(self, change: dict[str, object]) -> None:
        with pytest.raises(BadBundle, match=r"refers to \['prompts/none\.md'\]"):
            _ = with_spec(SEED, **change).spec
