"""Tracking: the same thing is said several times, and the last word counts."""

import random

from environments.docqa import lexicon
from environments.docqa.world import NUMBER, WORDS, Draft, Words, distractors, page


def correction(rng: random.Random, words: Words, level: int) -> Draft:
    """A report that corrects itself; what is the final value?"""
    departments = words.departments(distractors(level) + 1)
    dept = departments[0]
    values = words.numbers(100, 999, 2 + level // 2)
    first = [f"Headcount of {d}: {words.numbers(100, 999, 1)[0]}." for d in departments[1:]]
    say = rng.choice(
        [
            "Correction: the headcount of {dept} is now {n}.",
            "Update: {dept} has a headcount of {n}.",
        ]
    )
    own = [f"Headcount of {dept}: {values[0]}."]
    own += [say.format(dept=dept, n=n) for n in values[1:]]
    half = len(first) // 2
    lines = [*first[:half], own[0], *first[half:], *own[1:]]
    question = rng.choice(
        [
            f"After all corrections, what is the headcount of {dept}? Answer with the number only.",
            f"What is the latest headcount of {dept}? Answer with the number only.",
            f"Which headcount holds for {dept} in the end? Answer with the number only.",
        ]
    )
    text = page(rng, "HEADCOUNT REPORT", lines, level)
    return Draft({"headcount.txt": text}, question, str(values[-1]), NUMBER, [own[-1]], [dept])


def status_log(rng: random.Random, words: Words, level: int) -> Draft:
    """A machine log; what was the last state of a device?"""
    kinds = rng.sample(lexicon.DEVICES, 3)
    devices = [f"{kind} {id_}" for kind, id_ in zip(kinds * 4, words.ids("M", 12), strict=True)][
        : distractors(level) + 1
    ]
    device, rest = devices[0], devices[1:]
    events = [device] * (1 + level) + [rng.choice(rest) for _ in range(3 * level + 3)]
    rng.shuffle(events)
    minute, lines, last = 0, [], ("", "")
    for name in events:
        minute += rng.randint(3, 25)
        state = words.pick(lexicon.STATES)
        lines.append(f"{8 + minute // 60:02d}:{minute % 60:02d} {name} is {state}")
        if name == device:
            last = (state, lines[-1])
    question = rng.choice(
        [
            f"What is the last state of {device}? Answer with one word.",
            f"In which state does {device} end? Answer with one word.",
            f"At the end of the log, {device} is in which state? Answer with one word.",
        ]
    )
    text = page(rng, "MACHINE LOG", lines, level)
    return Draft({"machines.log": text}, question, last[0], WORDS, [last[1]], [device])
