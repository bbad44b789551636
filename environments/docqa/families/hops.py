"""Multi-hop: one line leads to the next."""

import random

from environments.docqa import lexicon
from environments.docqa.world import WORDS, Draft, Words, distractors, page, shuffled


def two_hop(rng: random.Random, words: Words, level: int) -> Draft:
    """Tickets and staff on one page; in which city does a ticket's owner work?"""
    n = min(distractors(level) + 1, 8)
    tickets, people = words.ids("T", n), words.people(n)
    cities = [words.pick(lexicon.CITIES) for _ in people]
    owns = [f"Ticket {t} is owned by {p}." for t, p in zip(tickets, people, strict=True)]
    lives = [f"{p} works in {c}." for p, c in zip(people, cities, strict=True)]
    question = rng.choice(
        [
            f"In which city does the owner of ticket {tickets[0]} work? Answer with the city only.",
            f"The owner of ticket {tickets[0]} works where? Answer with the city only.",
            f"Find the city of the person who owns ticket {tickets[0]}. Answer with the city only.",
        ]
    )
    text = page(rng, "TICKETS AND STAFF", shuffled(rng, owns + lives), level)
    return Draft(
        {"tickets.txt": text},
        question,
        cities[0],
        WORDS,
        [owns[0], lives[0]],
        [tickets[0], people[0]],
    )


def cross_file(rng: random.Random, words: Words, level: int) -> Draft:
    """Two files; the first names a depot, the second says where it is."""
    n = min(distractors(level) + 1, 6)
    parcels, depots = words.ids("K", n), words.depots(n)
    cities = rng.sample(lexicon.CITIES, n)
    goes = [f"Parcel {p} goes to depot {d}." for p, d in zip(parcels, depots, strict=True)]
    lies = [f"Depot {d} lies in {c}." for d, c in zip(depots, cities, strict=True)]
    question = rng.choice(
        [
            f"In which city does parcel {parcels[0]} arrive? Answer with the city only.",
            f"Parcel {parcels[0]} goes to which city? Answer with the city only.",
            f"Name the city of the depot for parcel {parcels[0]}. Answer with the city only.",
        ]
    )
    files = {
        "parcels.txt": page(rng, "PARCELS", shuffled(rng, goes), level),
        "depots.txt": page(rng, "DEPOTS", shuffled(rng, lies), 1),
    }
    return Draft(
        files,
        question,
        cities[0],
        WORDS,
        [goes[0], lies[0]],
        [parcels[0], f"Depot {depots[0]}"],
    )
