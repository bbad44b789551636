"""The docqa scorer: deterministic, made of named checks."""

import re
import unicodedata

from environments.base import Score
from environments.docqa.session import DocSession
from warehouse.events.trajectory import ScoreCheck

WRONG_FORM = 0.5
"""The score of a right answer that breaks the form the question asks for."""


def score(session: DocSession) -> Score:
    """Score a session: 1.0 for the right answer in the right form, 0.5 in another form, else 0.

    Checks: `delivered`, `value` (the right answer is what the answer says), `form` (the answer as a
    whole has the form asked for), `evidence_read` (every proving line was shown; it costs nothing).
    """
    draft, answer = session.draft, session.delivered
    if answer is None:
        return Score(0.0, (ScoreCheck(name="delivered", passed=False),))
    value = contains(answer, draft.answer)
    form = re.fullmatch(draft.form, answer.strip().rstrip(".")) is not None
    exact = plain(answer) == plain(draft.answer)
    unread = [line for line in draft.evidence if line not in session.seen]
    checks = (
        ScoreCheck(name="delivered", passed=True),
        ScoreCheck(name="value", passed=value),
        ScoreCheck(name="form", passed=form),
        ScoreCheck(
            name="evidence_read",
            passed=not unread,
            detail=f"{len(unread)} of {len(draft.evidence)} proving lines were never shown"
            if unread
            else None,
        ),
    )
    if not value:
        return Score(0.0, checks)
    return Score(1.0 if form and exact else WRONG_FORM, checks)


def plain(text: str) -> str:
    """Return `text` without case, outer punctuation and repeated spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", folded).strip(" .,;:!?\"'")


def contains(answer: str, gold: str) -> bool:
    """Whether the answer says `gold` as whole words, and no rival of the same kind beside it."""
    said, wanted = plain(answer), plain(gold)
    if re.search(rf"(?<![\w.]){re.escape(wanted)}(?![\w]|\.\d)", said) is None:
        return False
    rivals = _numbers(said) - _numbers(wanted)
    return not (rivals and _numbers(wanted))


def _numbers(text: str) -> set[str]:
    """Return the whole numbers of a text; a minus belongs to its number, a hyphen does not."""
    return set(re.findall(r"(?<!\w)-?\d+|\d+", text))
