"""Spanish morphology: plurals, agreement, conjugation, clitic pronouns, and contractions."""

import re
from functools import cache

from course_lib.datasets.grammar.tables import rows

# The order of persons everywhere: yo, tú, él/ella, nosotros, ellos/ellas.
CLITICS = ("me", "te", "se", "nos", "se")
DATIVES = ("me", "te", "le", "nos", "les")
ENDINGS = {
    "present": ("o as a amos an", "o es e emos en", "o es e imos en"),
    "past": ("é aste ó amos aron", "í iste ió imos ieron", "í iste ió imos ieron"),
    "imperfect": ("aba abas aba ábamos aban", *["ía ías ía íamos ían"] * 2),
    "subjunctive": ("e es e emos en", *["a as a amos an"] * 2),
    "future": ("é ás á emos án",) * 3,
    "conditional": ("ía ías ía íamos ían",) * 3,
}
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
    change = _irregular().get((infinitive, "stem"), "")
    stem = infinitive[:-2]
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


def _booted(infinitive: str, tense: str) -> list[str]:
    """Present forms of stem-changing verbs: the vowel changes where it is stressed (all but nosotros)."""
    change = _irregular().get((infinitive, "stem"), "")
    forms = []
    for person, ending in enumerate(_endings(infinitive, tense)):
        stem = infinitive[:-2]
        if change and person != 3:
            stem = _swap(stem, change)
        elif change and tense == "subjunctive":
            stem = _weak(infinitive)
        if infinitive.endswith("uir") and not infinitive.endswith("guir") and not ending.startswith("i"):
            stem += "y"  # construyo, construimos
        forms.append(_spell(stem, ending, infinitive))
    return forms


def _endings(infinitive: str, tense: str) -> list[str]:
    return ENDINGS[tense][("ar", "er", "ir").index(infinitive[-2:].translate(STRONG))].split()


def _soften(form: str) -> str:
    """Spell an unstressed i between vowels as y (leyó), and add the accent after a, e, o (leíste)."""
    form = re.sub(r"(?<![gq])([aeou])i(?=[oóe])", r"\1y", form)
    return re.sub(r"([aeo])i(?=st|mos|d)", r"\1í", form)


def _preterite(infinitive: str) -> list[str]:
    forms = []
    for person, ending in enumerate(_endings(infinitive, "past")):
        stem = _weak(infinitive) if person in (2, 4) else infinitive[:-2]
        form = _spell(stem, ending, infinitive)
        forms.append(form if infinitive.endswith("ar") else _soften(form))
    return forms


@cache
def conjugate(infinitive: str, tense: str) -> tuple[str, ...]:
    """Conjugate a verb, without clitics: yo, tú, él, nosotros, ellos.

    tense: "present", "past" (preterite), "imperfect", "future", "conditional" or "subjunctive".
    Source: the paradigms of the Real Academia Española's grammar; exceptions in data/spanish_verbs.csv.
    """
    if found := _irregular().get((infinitive, tense)):
        return tuple(found.split())
    if tense == "present":
        return tuple(_booted(infinitive, tense))
    if tense == "past":
        return tuple(_preterite(infinitive))
    if tense == "imperfect":
        return tuple(infinitive[:-2].translate(STRONG) + ending for ending in _endings(infinitive, tense))
    if tense == "subjunctive":
        return tuple(_subjunctive(infinitive))
    stem = _irregular().get((infinitive, "future stem"), infinitive.translate(STRONG))
    return tuple(stem + ending for ending in _endings(infinitive, tense))


def _subjunctive(infinitive: str) -> list[str]:
    """Present subjunctive, formed from an irregular yo form if there is one: tengo, tenga."""
    first = _irregular().get((infinitive, "present"), "").split(" ")[0]
    if first.endswith("go"):
        return [first[:-1] + ending for ending in _endings(infinitive, "subjunctive")]
    return _booted(infinitive, "subjunctive")


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


def own_clitic(infinitive: str, clitic: str, person: int) -> str:
    """The clitic of a verb: its reflexive pronoun if it has one, else the object pronoun."""
    return CLITICS[person] if infinitive.endswith("se") else clitic


def infinitive_group(infinitive: str, clitic: str, person: int) -> str:
    """The infinitive with its pronoun attached: levantarme, verlo."""
    return bare(infinitive) + own_clitic(infinitive, clitic, person)


@cache
def verb_group(infinitive: str, tense: str, person: int, clitic: str = "") -> str:
    """The conjugated verb with its pronoun: "me levanto", "lo estoy buscando", "voy a verlo"."""
    verb = bare(infinitive)
    if tense == "going to":
        return f"{conjugate('ir', 'present')[person]} a {infinitive_group(infinitive, clitic, person)}"
    compound = {
        "progressive": ("estar", "present", gerund),
        "past progressive": ("estar", "imperfect", gerund),
        "perfect": ("haber", "present", participle),
    }
    if tense in compound:
        helper, helper_tense, shape = compound[tense]
        group = f"{conjugate(helper, helper_tense)[person]} {shape(verb)}"
    else:
        group = conjugate(verb, tense)[person]
    return " ".join(filter(None, (own_clitic(infinitive, clitic, person), group)))


def contract(text: str) -> str:
    """Contractions: al for "a el", del for "de el", and "e" for "y" before the sound i."""
    text = f" {text}".replace(" a el ", " al ").replace(" de el ", " del ")
    return text.replace(" y i", " e i").replace(" y hi", " e hi")[1:]
