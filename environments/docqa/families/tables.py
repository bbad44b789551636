"""Table reasoning: rows and columns in Markdown tables."""

import random
from collections.abc import Sequence

from environments.docqa import lexicon
from environments.docqa.world import NUMBER, WORDS, Draft, Words, distractors, page

_HEADER = "| item | site | stock | keeper |"


def _rows(rng: random.Random, words: Words, things: Sequence[str]) -> list[tuple[str, ...]]:
    stock = words.numbers(10, 99, len(things))
    return [
        (thing, words.pick(lexicon.CITIES), str(n), rng.choice(lexicon.FIRST_NAMES))
        for thing, n in zip(things, stock, strict=True)
    ]


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [_HEADER, "|---|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]


def _text(rng: random.Random, table: Sequence[str], level: int, title: str) -> list[str]:
    around = page(rng, title, [], level)
    at = rng.randrange(3, len(around))
    return [*around[:at], *table, *around[at:]]


def inventory(rng: random.Random, words: Words, level: int) -> Draft:
    """A stock table; read one cell."""
    rows = _rows(rng, words, words.things(min(distractors(level) + 1, 6)))
    thing, site, stock, keeper = rows[0]
    rng.shuffle(rows)
    table = _table(rows)
    column = rng.choice(["site", "stock", "keeper"])
    question, answer, form = {
        "site": (
            rng.choice(
                [
                    f"At which site is the {thing} kept? Answer with the city only.",
                    f"What does the site column say for the {thing}? Answer with the city only.",
                    f"Where is the {thing} stored? Answer with the city only.",
                ]
            ),
            site,
            WORDS,
        ),
        "stock": (
            rng.choice(
                [
                    f"What is the stock of the {thing}? Answer with the number only.",
                    f"What does the stock column say for the {thing}? Answer with the number only.",
                    f"How often is the {thing} in stock? Answer with the number only.",
                ]
            ),
            stock,
            NUMBER,
        ),
        "keeper": (
            rng.choice(
                [
                    f"Who is the keeper of the {thing}? Answer with the first name only.",
                    f"Who keeps the {thing}? Answer with the first name only.",
                    f"Which keeper looks after the {thing}? Answer with the first name only.",
                ]
            ),
            keeper,
            WORDS,
        ),
    }[column]
    row = "| " + " | ".join((thing, site, stock, keeper)) + " |"
    text = _text(rng, table, level, "STOCK REPORT")
    return Draft({"stock.md": text}, question, answer, form, [row], [f"| {thing} |"])


def extreme(rng: random.Random, words: Words, level: int) -> Draft:
    """A stock table; which item has the most, or the least?"""
    rows = _rows(rng, words, words.things(min(distractors(level) + 1, 6)))
    most = rng.random() < 0.5
    best = (max if most else min)(rows, key=lambda row: int(row[2]))
    word = "highest" if most else "lowest"
    report = words.ids("S", 1)[0]
    question = rng.choice(
        [
            f"Which item of stock report {report} has the {word} stock? Answer with the item only.",
            f"Name the item whose stock is {word} in report {report}. Answer with the item only.",
            f"Report {report}: which item has the {word} stock number? Answer with the item only.",
        ]
    )
    text = _text(rng, _table(rows), level, f"STOCK REPORT {report}")
    proof = ["| " + " | ".join(row) + " |" for row in rows]
    return Draft({"stock.md": text}, question, best[0], WORDS, proof, [f"| {r[0]} |" for r in rows])
