"""Spanish morphology: plurals, agreement, conjugation, clitic pronouns, and contractions."""

import re
from functools import cache

from course_lib.datasets.grammar.tables import rows

# The order of persons everywhere: yo, tú, él/ella, nosotros, ellos/ellas.
CLITICS = ("me", "te", "se", "nos", "se")
DATIVES = ("me", "te", "le", "nos", "les")
STRONG = str.maketrans("áéíóú", "aeiou")


def plural(word: str) -> str:
    """The regular plural: libro, ciudad, lápiz, canción, autobús, café."""
    if re.search(r"[aeiouáéó]$", word):
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    if re.search(r"[áéíóú][ns]$", word):  # the accent is no longer needed: canción, canciones
        return word[:-2] + word[-2:].translate(STRONG) + "es"
    return word + "es"


@cache
def agree(adjective: str, feminine: str, plurals: str, gender: str, many: bool) -> str:
    """Agreement: an adjective in a gender and number. feminine, plurals: irregular forms, or ""."""
    if gender == "f":
        adjective = feminine or re.sub(r"o$", "a", adjective)
    if not many:
        return adjective
    return plurals or plural(adjective)


@cache
def _irregular() -> dict[tuple[str, str], str]:
    return {(row["infinitive"], row["tense"]): row["forms"] for row in rows("spanish_verbs")}


@cache
def _endings(tense: str) -> dict[str, str]:
    return next(row for row in rows("spanish_endings") if row["tense"] == tense)


@cache
def conjugate(infinitive: str, tense: str) -> tuple[str, ...]:
    """Conjugate a verb, without clitics: yo, tú, él, nosotros, ellos.

    tense: "present", "past" (preterite), "imperfect", "future" or "conditional".
    Source: the paradigms of the Real Academia Española's grammar; all forms that do not consist of the stem
    and a regular ending are in data/spanish_verbs.csv.
    """
    if found := _irregular().get((infinitive, tense)):
        return tuple(found.split())
    stem = infinitive.translate(STRONG)
    endings = _endings(tense)[stem[-2:]].split()
    return tuple((stem if tense in ("future", "conditional") else stem[:-2]) + ending for ending in endings)


def gerund(infinitive: str) -> str:
    """Gerund: comiendo, hablando, leyendo, durmiendo."""
    regular = infinitive[:-2] + ("ando" if infinitive.endswith("ar") else "iendo")
    return _irregular().get((infinitive, "gerund"), regular)


def participle(infinitive: str) -> str:
    """Past participle: comido, hablado, leído, abierto."""
    regular = infinitive[:-2] + ("ado" if infinitive.endswith("ar") else "ido")
    return _irregular().get((infinitive, "participle"), regular)


def command(infinitive: str, negative: bool) -> str:
    """Imperative, informal singular (tú): abre, no abras.

    The negative one is the subjunctive, which follows the yo form: hago, no hagas; busco, no busques.
    """
    if not negative:
        return _irregular().get((infinitive, "command"), conjugate(infinitive, "present")[2])
    regular = conjugate(infinitive, "present")[0][:-1] + "as"
    if infinitive.endswith("ar"):
        regular = re.sub("z$", "c", re.sub("g$", "gu", re.sub("c$", "qu", regular[:-2]))) + "es"
    return f"no {_irregular().get((infinitive, 'forbidden'), regular)}"


def bare(infinitive: str) -> str:
    """The infinitive without its reflexive pronoun: levantar for levantarse."""
    return infinitive.removesuffix("se")


def _clitic(infinitive: str, clitic: str, person: int) -> str:
    """The clitic of a verb: its reflexive pronoun if it has one, else the object pronoun."""
    return CLITICS[person] if infinitive.endswith("se") else clitic


def infinitive_group(infinitive: str, clitic: str, person: int) -> str:
    """The infinitive with its pronoun attached: levantarme, verlo."""
    return bare(infinitive) + _clitic(infinitive, clitic, person)


@cache
def verb_group(infinitive: str, tense: str, person: int, clitic: str = "") -> str:
    """The conjugated verb with its pronoun: "me levanto", "lo estoy buscando", "voy a verlo"."""
    if tense == "going to":
        return f"{conjugate('ir', 'present')[person]} a {infinitive_group(infinitive, clitic, person)}"
    verb = bare(infinitive)
    if tense == "perfect":
        group = f"{conjugate('haber', 'present')[person]} {participle(verb)}"
    elif tense.endswith("progressive"):
        estar = conjugate("estar", "imperfect" if tense == "past progressive" else "present")
        group = f"{estar[person]} {gerund(verb)}"
    else:
        group = conjugate(verb, tense)[person]
    return f"{_clitic(infinitive, clitic, person)} {group}".lstrip()


def contract(text: str) -> str:
    """Contractions: al for "a el", del for "de el", and "e" for "y" before the sound i."""
    return re.sub(r"\by (?=h?i)", "e ", re.sub(r"\b(a|de) el\b", r"\1l", text))
