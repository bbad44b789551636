"""Time as an argument."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the current time in UTC, to the microsecond."""
    return datetime.now(UTC)
