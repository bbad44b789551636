"""Faithfulness: sometimes the documents do not say, and then the answer must say so."""

import random

from environments.docqa.world import Draft, Words, distractors, page, shuffled

NOT_STATED = "not stated"


def unstated(rng: random.Random, words: Words, level: int) -> Draft:
    """A parking plan in which half of those asked about have no number."""
    people = words.people(distractors(level) + 1)
    bays = words.numbers(10, 99, len(people))
    facts = [f"{name} parks in bay {bay}." for name, bay in zip(people, bays, strict=True)]
    name = people[0]
    mention = f"{name} comes to work by bicycle."
    known = rng.random() < 0.5
    lines = facts if known else [mention, *facts[1:]]
    question = rng.choice(
        [
            f"In which bay does {name} park?",
            f"Which parking bay belongs to {name}?",
            f"What is the number of the bay of {name}?",
        ]
    )
    question += f" Answer with the number only, or with: {NOT_STATED}"
    text = page(rng, "PARKING PLAN", shuffled(rng, lines), level)
    return Draft(
        {"parking.txt": text},
        question,
        str(bays[0]) if known else NOT_STATED,
        rf"\d+|{NOT_STATED}",
        [facts[0] if known else mention],
        [name],
    )
