"""Dynamic partitions: a line of evolution, and a round of a line (`<line>~r003`)."""

import dagster as dg

from warehouse.errors import BadInput

LINE = dg.DynamicPartitionsDefinition(name="line")
ROUND = dg.DynamicPartitionsDefinition(name="round")


def round_key(line: str, number: int) -> str:
    """Return the partition key of a round."""
    return f"{line}~r{number:03d}"


def parse_round(key: str) -> tuple[str, int]:
    """Return (line, round number) of a partition key.

    Raises:
        BadInput: the key has another form.
    """
    line, mark, number = key.rpartition("~r")
    if not mark or not line or not number.isdecimal() or int(number) < 1:
        raise BadInput(f"round partition {key!r}: write <line>~r<number from 1>, e.g. main~r001")
    return line, int(number)
