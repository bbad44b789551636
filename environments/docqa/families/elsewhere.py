"""Out-of-domain: kinds of documents and questions that nothing else in docqa has."""

import random

from environments.docqa import lexicon
from environments.docqa.world import CODE, NUMBER, Draft, Words, distractors, page, shuffled


def changelog(rng: random.Random, words: Words, level: int) -> Draft:
    """Release notes; which version repaired a thing?"""
    fixes = rng.sample(lexicon.FIXES, min(distractors(level) + 2, len(lexicon.FIXES)))
    versions = [f"{1 + i // 4}.{i % 4}.{n}" for i, n in enumerate(words.numbers(0, 29, len(fixes)))]
    say = rng.choice(["{v} repairs {fix}", "{v} - mended {fix}"])
    lines = [say.format(v=f"v{v}", fix=fix) for v, fix in zip(versions, fixes, strict=True)]
    at = rng.randrange(len(fixes))
    fix = fixes[at].removeprefix("the ")
    question = rng.choice(
        [
            f"Which version repaired the {fix}? Answer with the version only.",
            f"In which release was the {fix} mended? Answer with the version only.",
            f"Name the version that took care of the {fix}. Answer with the version only.",
        ]
    )
    text = page(rng, "RELEASE NOTES", lines, level)
    return Draft({"CHANGES.txt": text}, question, f"v{versions[at]}", CODE, [lines[at]], [fix])


def settings_file(rng: random.Random, words: Words, level: int) -> Draft:
    """A settings file; which value does a key have?"""
    n = min(distractors(level) + 1, 8)
    services = [d.replace(" ", "_") for d in words.departments(n)]
    keys = [words.pick(lexicon.SETTINGS) for _ in services]
    values = words.numbers(2, 900, n)
    lines = [f"{s}.{k} = {v}" for s, k, v in zip(services, keys, values, strict=True)]
    key = f"{services[0]}.{keys[0]}"
    question = rng.choice(
        [
            f"Which value does the setting {key} have? Answer with the number only.",
            f"What is {key} set to? Answer with the number only.",
            f"Find the value of {key}. Answer with the number only.",
        ]
    )
    text = page(rng, "# settings", shuffled(rng, lines), level)
    return Draft({"service.conf": text}, question, str(values[0]), NUMBER, [lines[0]], [key])


def glossary(rng: random.Random, words: Words, level: int) -> Draft:
    """A glossary; which page explains a term?"""
    n = min(distractors(level) + 1, 6)
    terms = words.depots(n)
    pages = words.numbers(11, 99, n)
    lines = [f"{term} rule ..... {number}" for term, number in zip(terms, pages, strict=True)]
    question = rng.choice(
        [
            f"On which page is the {terms[0]} rule explained? Answer with the number only.",
            f"Which page holds the {terms[0]} rule? Answer with the number only.",
            f"Give the page of the {terms[0]} rule. Answer with the number only.",
        ]
    )
    text = page(rng, "INDEX OF RULES", sorted(lines), level)
    return Draft(
        {"index.txt": text}, question, str(pages[0]), NUMBER, [lines[0]], [f"{terms[0]} rule"]
    )
