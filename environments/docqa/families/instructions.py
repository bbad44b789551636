"""Instruction following: the answer must have a given form."""

import random

from environments.docqa import lexicon
from environments.docqa.world import Draft, Words, distractors, page, shuffled


def formatted(rng: random.Random, words: Words, level: int) -> Draft:
    """A room plan; give the room in a form that the question fixes."""
    people = words.people(distractors(level) + 1)
    rooms = words.numbers(100, 999, len(people))
    floors = [words.pick(lexicon.WEEKDAYS) for _ in people]
    facts = [
        f"{name} sits in room {room} and hosts visitors on {day}."
        for name, room, day in zip(people, rooms, floors, strict=True)
    ]
    name, room = people[0], rooms[0]
    mark = rng.choice(["R", "ROOM", "#"])
    question = rng.choice(
        [
            f"In which room does {name} sit? Answer in the form {mark}/number.",
            f"Give the room of {name}, written as {mark}/number.",
            f"Which room does {name} have? Write {mark}/number.",
        ]
    )
    text = page(rng, "ROOM PLAN", shuffled(rng, facts), level)
    return Draft(
        {"rooms.txt": text}, question, f"{mark}/{room}", rf"{mark}/\d+", [facts[0]], [name]
    )
