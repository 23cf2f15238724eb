"""Times written as text, such as a constant that is compared with a time."""

from __future__ import annotations

from datetime import UTC, datetime, time


def seconds_from_text(text: str) -> float | None:
    """Return the seconds since the epoch of a time or date in text; None for other text.

    >>> seconds_from_text("1970-01-01T00:00:05"), seconds_from_text("soon")
    (5.0, None)
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            clock = time.fromisoformat(text.strip())
        except ValueError:
            return None
        moment = datetime.combine(datetime.min.date(), clock)
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
