"""Look-up: one line holds the answer."""

import random

from environments.docqa import lexicon
from environments.docqa.world import NUMBER, WORDS, Draft, Words, distractors, page, shuffled


def directory(rng: random.Random, words: Words, level: int) -> Draft:
    """A staff report; where does a person work, or which extension do they have?"""
    people = words.people(distractors(level) + 1)
    cities = [words.pick(lexicon.CITIES) for _ in people]
    extensions = words.numbers(1000, 9999, len(people))
    say = rng.choice(
        [
            "{name} works in {city}, extension {ext}.",
            "{name} is based in {city} and answers extension {ext}.",
        ]
    )
    facts = [
        say.format(name=n, city=c, ext=e)
        for n, c, e in zip(people, cities, extensions, strict=True)
    ]
    noise = [f"{name} sent greetings to the whole team." for name in people[: 1 + level]]
    name = people[0]
    if rng.random() < 0.5:
        question = rng.choice(
            [
                f"In which city does {name} work? Answer with the city only.",
                f"Where is the workplace of {name}? Answer with the city only.",
                f"Name the city in which {name} is based. Answer with the city only.",
            ]
        )
        answer, form = cities[0], WORDS
    else:
        question = rng.choice(
            [
                f"Which extension does {name} have? Answer with the number only.",
                f"What is the extension of {name}? Answer with the number only.",
                f"On which extension can {name} be reached? Answer with the number only.",
            ]
        )
        answer, form = str(extensions[0]), NUMBER
    text = page(rng, "STAFF REPORT", shuffled(rng, facts + noise), level)
    return Draft({"staff.txt": text}, question, answer, form, [facts[0]], [name])


def ledger(rng: random.Random, words: Words, level: int) -> Draft:
    """A budget report; how much was granted to a department?"""
    departments = words.departments(distractors(level) + 1)
    granted = words.numbers(100, 999, len(departments))
    spent = words.numbers(10, 99, len(departments))
    say = rng.choice(["Budget of {dept}: {n} kEUR.", "The {dept} department was granted {n} kEUR."])
    facts = [say.format(dept=d, n=n) for d, n in zip(departments, granted, strict=True)]
    noise = [
        f"{dept} has used {n} percent so far."
        for dept, n in zip(departments[: 1 + level], spent, strict=False)
    ]
    dept = departments[0]
    question = rng.choice(
        [
            f"What is the budget of {dept} in kEUR? Answer with the number only.",
            f"How many kEUR were granted to {dept}? Answer with the number only.",
            f"Which amount in kEUR does {dept} have as its budget? Answer with the number only.",
        ]
    )
    text = page(rng, "BUDGET REPORT", shuffled(rng, facts + noise), level)
    return Draft({"budget.txt": text}, question, str(granted[0]), NUMBER, [facts[0]], [dept])


def ticket(rng: random.Random, words: Words, level: int) -> Draft:
    """A ticket list; who owns a ticket?"""
    n = distractors(level) + 1
    tickets, owners = words.ids("T", n), words.people(n)
    say = rng.choice(["Ticket {id} is owned by {name}.", "{name} took over ticket {id}."])
    facts = [say.format(id=i, name=o) for i, o in zip(tickets, owners, strict=True)]
    noise = [
        f"Ticket {i} was discussed on {words.pick(lexicon.WEEKDAYS)}." for i in tickets[:level]
    ]
    question = rng.choice(
        [
            f"Who owns ticket {tickets[0]}? Answer with the full name.",
            f"Which person is the owner of ticket {tickets[0]}? Answer with the full name.",
            f"Ticket {tickets[0]} belongs to whom? Answer with the full name.",
        ]
    )
    text = page(rng, "TICKET LIST", shuffled(rng, facts + noise), level)
    return Draft({"tickets.txt": text}, question, owners[0], WORDS, [facts[0]], [tickets[0]])


def dialogue(rng: random.Random, words: Words, level: int) -> Draft:
    """A chat; who promised to bring a thing, or on which day?"""
    n = min(distractors(level) + 1, 6)
    things = words.things(n)
    speakers = rng.sample(lexicon.FIRST_NAMES, n)
    days = [words.pick(lexicon.WEEKDAYS) for _ in things]
    say = rng.choice(
        ["{who}: I will bring the {thing} on {day}.", "{who}: The {thing} comes with me on {day}."]
    )
    facts = [
        say.format(who=w, thing=t, day=d) for w, t, d in zip(speakers, things, days, strict=True)
    ]
    asks = [f"{rng.choice(lexicon.FIRST_NAMES)}: Does anyone have a {t}?" for t in things[:level]]
    thing = things[0]
    if rng.random() < 0.5:
        question = rng.choice(
            [
                f"Who brings the {thing}? Answer with the first name only.",
                f"Which speaker promised to bring the {thing}? Answer with the first name only.",
                f"Name the person who carries the {thing}. Answer with the first name only.",
            ]
        )
        answer = speakers[0]
    else:
        question = rng.choice(
            [
                f"On which day does the {thing} come? Answer with the weekday only.",
                f"When will the {thing} be brought? Answer with the weekday only.",
                f"Which weekday was named for the {thing}? Answer with the weekday only.",
            ]
        )
        answer = days[0]
    text = page(rng, "CHAT LOG", asks + shuffled(rng, facts), level)
    return Draft({"chat.txt": text}, question, answer, WORDS, [facts[0]], [thing])
