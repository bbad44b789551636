"""Readers of other tools' trajectories, detected by structure, never by a file's name."""

from collections.abc import Mapping

from pipelines.formats import chat
from pipelines.formats.reader import Reader

READERS: Mapping[str, Reader] = {"chat": chat.READER}
"""Every reader by format name; the first that recognizes a record reads its file."""
