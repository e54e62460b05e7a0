"""Words, sentences and dates for pages that are made by hand."""

from random import Random

_WORDS = """
    river museum council engine window garden letter market theatre bridge station harbour mountain library school
    festival winter summer morning evening report budget minister player doctor teacher village forest railway island
    castle paper music picture signal copper silver orange yellow narrow broad quiet early modern ancient public private
    local national careful simple strong gentle open closed found built moved opened announced painted repaired measured
    visited described planned carried reached followed crossed between under over after before during without against
    along behind beyond across because although while where when which that this these those many several
"""
_MONTHS = "January February March April May June July August September October November December"
_MONATE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
WORDS, MONTHS, MONATE = _WORDS.split(), _MONTHS.split(), _MONATE.split()


def sentence(random: Random, words: int = 0) -> str:
    """A sentence, at times with a number or a date."""
    count = words or random.randint(8, 18)
    found = [random.choice(WORDS) for _ in range(count)]
    if random.random() < 0.35:
        found.insert(random.randrange(1, count), str(random.randint(2, 4000)))
    if random.random() < 0.15:
        found.insert(random.randrange(1, count), date(random))
    return " ".join(found).capitalize() + "."


def date(random: Random) -> str:
    """A date in words."""
    return f"{random.randint(1, 28)} {random.choice(MONTHS)} {random.randint(1990, 2026)}"


def paragraph(random: Random) -> str:
    """A paragraph of some sentences."""
    return "<p>" + " ".join(sentence(random) for _ in range(random.randint(2, 5))) + "</p>"


def heading(random: Random) -> str:
    """Five words."""
    return " ".join(random.choice(WORDS) for _ in range(5)).capitalize()


def digits(random: Random, count: int = 32) -> str:
    """A hexadecimal number."""
    return f"{random.getrandbits(4 * count):0{count}x}"
