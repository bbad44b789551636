"""Aggregation: the answer stands on no line."""

import random

from environments.docqa.world import NUMBER, Draft, Words, distractors, page, shuffled

SHOWN = 6
"""A search shows this many lines; its first line says how many there are."""


def count(rng: random.Random, words: Words, level: int) -> Draft:
    """An error log; how many lines are about one service?"""
    services = words.departments(3)
    amounts = [rng.randint(2, 3 + 2 * level), rng.randint(1, 4), distractors(level) // 2]
    lines = [
        f"ERROR in {service}: code {words.numbers(10, 99, 1)[0]}"
        for service, n in zip(services, amounts, strict=True)
        for _ in range(n)
    ]
    name = services[0]
    question = rng.choice(
        [
            f"How many ERROR lines are there for {name}? Answer with the number only.",
            f"Count the errors of {name}. Answer with the number only.",
            f"How often does an error in {name} occur? Answer with the number only.",
        ]
    )
    text = page(rng, "ERROR LOG", shuffled(rng, lines), level)
    proof = [line for line in text if name in line][:SHOWN]
    return Draft({"errors.log": text}, question, str(amounts[0]), NUMBER, proof, [name])
