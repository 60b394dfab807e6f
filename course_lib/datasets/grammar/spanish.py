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


def _swap(stem: str, change: str) -> str:
    """Change the last vowel of a stem: pens, e>ie gives piens."""
    old, new = change.split(">")
    head, _, tail = stem.rpartition(old)
    return head + new + tail


def _weak(infinitive: str) -> str:
    """The weak stem of stem-changing -ir verbs, with i or u: pidió, durmiendo, prefirieron."""
    change, stem = _irregular().get((infinitive, "stem"), ""), infinitive[:-2]
    if not change or not infinitive.endswith("ir"):
        return stem
    return _swap(stem, "o>u" if change == "o>ue" else "e>i")


def _spell(stem: str, ending: str, infinitive: str) -> str:
    """Spelling changes that keep the sound of the last consonant: saqué, pagué, empecé, protejo."""
    front = ending[0] in "eéií"
    if infinitive.endswith("ar") and front:
        stem = re.sub(r"z$", "c", re.sub(r"g$", "gu", re.sub(r"c$", "qu", stem)))
    elif not infinitive.endswith("ar") and not front:
        stem = re.sub(r"([aeo])c$", r"\1zc", stem)
        stem = re.sub(r"([^n])g$", r"\1j", stem) if not stem.endswith("gu") else stem[:-1]
        if infinitive.endswith("ducir"):
            stem = re.sub(r"c$", "zc", stem)
    return stem + ending


@cache
def _endings(infinitive: str, tense: str) -> list[str]:
    endings = next(row for row in rows("spanish_endings") if row["tense"] == tense)
    return endings[infinitive[-2:].translate(STRONG)].split()


def _present(infinitive: str, tense: str = "present") -> list[str]:
    """Present forms of stem-changing verbs: the vowel changes where it is stressed (all but nosotros)."""
    change, stem = _irregular().get((infinitive, "stem"), ""), infinitive[:-2]
    stems = [_swap(stem, change) if change else stem] * 5
    stems[3] = _weak(infinitive) if tense == "subjunctive" else stem
    y = "y" if re.search(r"(?<!g)uir$", infinitive) else ""  # construyo, construimos
    pairs = zip(stems, _endings(infinitive, tense), strict=True)
    return [_spell(stem + (y if ending[0] != "i" else ""), ending, infinitive) for stem, ending in pairs]


def _soften(form: str) -> str:
    """Spell an unstressed i between vowels as y (leyó), and add the accent after a, e, o (leíste)."""
    form = re.sub(r"(?<![gq])([aeou])i(?=[oóe])", r"\1y", form)
    return re.sub(r"([aeo])i(?=st|mos|d)", r"\1í", form)


def _preterite(infinitive: str) -> list[str]:
    stem, weak = infinitive[:-2], _weak(infinitive)
    stems = zip((stem, stem, weak, stem, weak), _endings(infinitive, "past"), strict=True)
    forms = [_spell(stem, ending, infinitive) for stem, ending in stems]
    return forms if infinitive.endswith("ar") else [_soften(form) for form in forms]


def _subjunctive(infinitive: str) -> list[str]:
    """Present subjunctive, formed from an irregular yo form if there is one: tengo, tenga."""
    first = _irregular().get((infinitive, "present"), "").split(" ")[0]
    if first.endswith("go"):
        return [first[:-1] + ending for ending in _endings(infinitive, "subjunctive")]
    return _present(infinitive, "subjunctive")


@cache
def conjugate(infinitive: str, tense: str) -> tuple[str, ...]:
    """Conjugate a verb, without clitics: yo, tú, él, nosotros, ellos.

    tense: "present", "past" (preterite), "imperfect", "future", "conditional" or "subjunctive".
    Source: the paradigms of the Real Academia Española's grammar; exceptions in data/spanish_verbs.csv.
    """
    if found := _irregular().get((infinitive, tense)):
        return tuple(found.split())
    rules = {"present": _present, "past": _preterite, "subjunctive": _subjunctive}
    if tense in rules:
        return tuple(rules[tense](infinitive))
    stem = infinitive.translate(STRONG)
    stem = stem[:-2] if tense == "imperfect" else _irregular().get((infinitive, "future stem"), stem)
    return tuple(stem + ending for ending in _endings(infinitive, tense))


@cache
def gerund(infinitive: str) -> str:
    """Gerund: comiendo, hablando, leyendo, durmiendo."""
    if found := _irregular().get((infinitive, "gerund")):
        return found
    if infinitive.endswith("ar"):
        return infinitive[:-2] + "ando"
    return _soften(_weak(infinitive) + "iendo")


@cache
def participle(infinitive: str) -> str:
    """Past participle: comido, hablado, leído, abierto."""
    if found := _irregular().get((infinitive, "participle")):
        return found
    return infinitive[:-2] + "ado" if infinitive.endswith("ar") else _soften(infinitive[:-2] + "ido")


@cache
def command(infinitive: str, negative: bool) -> str:
    """Imperative, informal singular (tú): abre, no abras."""
    if negative:
        return "no " + conjugate(infinitive, "subjunctive")[1]
    return _irregular().get((infinitive, "command")) or conjugate(infinitive, "present")[2]


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
