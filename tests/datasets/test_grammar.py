"""The phrase grammar: word forms against a handwritten list, and every pair against independent checks."""

import csv
import hashlib
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from course_lib.datasets import grammar
from course_lib.datasets.grammar import english, lexicon, phrases, spanish, tables
from course_lib.datasets.grammar.clauses import Predicate, Shape, clause, finished
from course_lib.datasets.grammar.phrases import (
    PRONOUNS,
    Dice,
    Nonsense,
    generate,
    names,
    noun_phrase,
    possessed,
)
from course_lib.utils.files import data_folder

ME, YOU, HE, SHE, WE, THEY = PRONOUNS


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FORMS = table(Path(__file__).with_name("word_forms.csv"))  # written by hand
WRONG = table(Path(__file__).with_name("wrong_pairs.csv"))  # each with the check that must see it


@pytest.fixture(scope="module")
def pairs():
    return grammar.pairs()


def agreement(word):
    one = next(one for one in lexicon.entries("adjectives") if one.spanish == word)
    return " ".join(phrases.agree(one, gender, many) for many in (False, True) for gender in "mf")


def english_verb(base):
    found = [english.form(base, which) for which in ("third", "past", "participle", "gerund")]
    assert english.form(f"{base} for it", "third") == f"{found[0]} for it"
    return " ".join(found)


ASKED = {
    "gerund": spanish.gerund,
    "participle": spanish.participle,
    "command": lambda verb: spanish.command(verb, False),
    "forbidden": lambda verb: spanish.command(verb, True),
    "plural": spanish.plural,
    "agreement": agreement,
    "English verb": english_verb,
    "English comparative": english.comparative,
    "English article": english.article,
    "English plural": english.plural,
}


@pytest.mark.parametrize("asked", sorted({row["asked"] for row in FORMS}))
def test_word_forms(asked):
    inflect = ASKED.get(asked, lambda verb: " ".join(spanish.conjugate(verb, asked)))
    expected = {row["word"]: row["forms"] for row in FORMS if row["asked"] == asked}
    assert {word: inflect(word) for word in expected} == expected


def test_pronouns_of_the_verb():
    assert spanish.verb_group("levantarse", "present", 3) == "nos levantamos"
    assert spanish.verb_group("levantarse", "going to", 0) == "voy a levantarme"
    assert spanish.verb_group("ducharse", "progressive", 2) == "se está duchando"
    assert spanish.verb_group("ver", "perfect", 4, "la") == "la han visto"
    assert spanish.verb_group("ayudar", "going to", 1, "nos") == "vas a ayudarnos"


def noun(word):
    return next(one for one in lexicon.entries("nouns") + lexicon.entries("people") if one.english == word)


def test_noun_phrases():
    red, good = (
        next(one for one in lexicon.entries("adjectives") if one.english == word) for word in ("red", "good")
    )
    cases = [
        (("the", noun("water")), ("the water", "el agua")),
        (("this", noun("water")), ("this water", "esta agua")),
        (("a", noun("eagle")), ("an eagle", "un águila")),
        (("the", noun("eagle"), True), ("the eagles", "las águilas")),
        (("my", noun("hand"), True), ("my hands", "mis manos")),
        (("our", noun("house")), ("our house", "nuestra casa")),
        (("a", noun("car"), False, red), ("a red car", "un coche rojo")),
        (("those", noun("skirt"), True, red), ("those red skirts", "esas faldas rojas")),
        (("a", noun("book"), False, good), ("a good book", "un buen libro")),
        (("many", noun("movie"), True, good), ("many good movies", "muchas buenas películas")),
        (("the", noun("doctor")), ("the doctor", "la doctora")),
        (("generic", noun("apple"), True), ("apples", "las manzanas")),
        (("", noun("bread")), ("bread", "pan")),
    ]
    for asked, expected in cases:
        assert noun_phrase(*asked)[:2] == expected
    ana = next(one for one in names() if one.english == "Ana")
    assert possessed(ana, noun("car"), False, red)[:2] == ("Ana's red car", "el coche rojo de Ana")


def test_clauses():
    read = Predicate("read", "leer", "the book", "el libro")
    know = Predicate("know", "conocer", "Ana", "a Ana", state=True)
    see = Predicate("see", "ver", "her", "", "la")
    tired = Predicate("be", "estar", "tired", "cansada", state=True)
    want = see.governed(("want to", "querer", ""), 0, state=True)
    cases = [
        (ME, read, Shape("past", "negative"), "I didn't read the book", "no leí el libro"),
        (SHE, read, Shape("present"), "she reads the book", "ella lee el libro"),
        (HE, read, Shape("used to"), "he used to read the book", "él leía el libro"),
        (WE, know, Shape("past"), "we knew Ana", "conocíamos a Ana"),
        (YOU, know, Shape("present", "question"), "do you know Ana", "conoces a Ana"),
        (
            THEY,
            see,
            Shape("perfect", adverb=("never", "nunca")),
            "they have never seen her",
            "ellos nunca la han visto",
        ),
        (ME, want, Shape("past"), "I wanted to see her", "quería verla"),
        (
            SHE,
            tired,
            Shape("present", "negative", asked=("why", "por qué")),
            "why isn't she tired",
            "por qué no está cansada ella",
        ),
        (
            YOU,
            read,
            Shape("future", "question", asked=("when", "cuándo")),
            "when will you read the book",
            "cuándo leerás el libro",
        ),
    ]
    for subject, predicate, shape, en, es in cases:
        assert clause(subject, predicate, shape) == (en, es)


@pytest.mark.parametrize("asked", [Shape("past", "question"), Shape("past", "negative", ("why", "por qué"))])
def test_nobody_asks_about_himself(asked):
    for subject in (ME, WE):
        with pytest.raises(Nonsense):
            clause(subject, Predicate("sleep", "dormir"), asked)


def test_finished():
    assert finished("does he go to the park", "él va a el parque", "?") == (
        "Does he go to the park?",
        "¿Él va al parque?",
    )
    assert finished("x", "es el libro de el maestro y invitados")[1] == "Es el libro del maestro e invitados."
    assert finished("for him", "para él, de él")[1] == "Para él, de él."


# What follows looks at the finished pairs only, with the tables read afresh.


def read_table(name):
    return table(data_folder() / f"{name}.csv")


def words(sentence):
    return re.sub(r"[.,?¿!]", "", sentence).lower().split()


def test_there_are_enough_and_they_are_distinct(pairs):
    assert len(pairs) == len(set(pairs)) == len({en for en, _ in pairs}) >= 90_000
    assert len(pairs) < 110_000
    assert len({es for _, es in pairs}) > 0.99 * len(pairs)
    assert all(1 <= len(text.split()) <= 8 for pair in pairs for text in pair)


def test_sentences_of_one_language_in_lists_of_the_callers_own(pairs):
    assert set(grammar.sentences("en")) == {en for en, _ in pairs}
    assert len(grammar.sentences("es")) == len({es for _, es in pairs})
    with pytest.raises(ValueError, match="'fr'.*'en' nor 'es'"):
        grammar.sentences("fr")
    grammar.pairs().clear()
    assert len(grammar.pairs()) == len(pairs)


def test_the_order_is_mixed(pairs):
    def questions(some):
        return sum(en.endswith("?") for en, _ in some) / len(some)

    def opinions(some):
        return sum(" that " in en for en, _ in some) / len(some)

    for fraction in (questions, opinions):
        assert fraction(pairs[:5000]) == pytest.approx(fraction(pairs), rel=0.25)


def test_every_process_makes_the_same_pairs_in_the_same_order(pairs):
    """Whatever the seed of its hashes, which differs between processes."""
    digest = hashlib.sha256(repr(pairs).encode()).hexdigest()
    assert digest == "fd23db92addbbb2dd79fadd5042dd667f588c72a3a9026a68a83e4b6bd55d462"


def test_every_word_of_the_lexicon_is_used(pairs):
    counts = [Counter(word for pair in pairs for word in words(pair[side])) for side in (0, 1)]
    for one in read_table("nouns") + read_table("people") + read_table("adjectives"):
        forms = {one["english"].lower(), one.get("plural") or english.plural(one["english"].lower())}
        assert sum(counts[0][form.split()[-1]] for form in forms) >= 20, one
    for one in read_table("verbs"):
        verb = spanish.bare(one["spanish"])
        forms = {verb, *spanish.conjugate(verb, "present"), *spanish.conjugate(verb, "past")}
        assert sum(counts[1][form] for form in forms) >= 60, one


def form_of_english(pair):
    en, _ = pair
    return bool(re.fullmatch(r"[A-Z][A-Za-zóá,' ]*[a-zá][.?]", en)) and "  " not in en and " ," not in en


def form_of_spanish(pair):
    _, es = pair
    letters = "A-Za-zÁÉÍÓÚáéíóúñüÑ"
    return (
        bool(re.fullmatch(rf"(¿[{letters}, ]+\?|[{letters}, ]+\.)", es)) and "  " not in es and " ," not in es
    )


def capital(pair):
    return pair[0][0].isupper() and pair[1].lstrip("¿")[0].isupper()


def question_marks(pair):
    en, es = pair
    return en.endswith("?") == es.endswith("?") == es.startswith("¿") and es.count("¿") == es.count("?")


def contractions(pair):
    return not re.search(r"\b(a|de) el\b", pair[1].lower()) and not re.search(r"\by h?i", pair[1].lower())


def a_or_an(pair):
    for article, word in re.findall(r"\b(an?) (\w+)", pair[0].lower()):
        vowel = word[0] in "aeiou" and not word.startswith(("uni", "use")) or word == "honest"
        if vowel != (article == "an"):
            return False
    return True


def negation(pair):
    en, es = words(pair[0]), words(pair[1])
    return any(word.endswith("n't") or word in ("not", "no") for word in en) == ("no" in es)


DETERMINERS = {
    "el un este ese nuestro otro": ("m", False),
    "la una esta esa nuestra otra": ("f", False),
    "los estos esos nuestros algunos muchos varios demasiados cuántos": ("m", True),
    "las estas esas nuestras algunas muchas varias demasiadas cuántas": ("f", True),
    "mi tu su cada": (None, False),
    "mis tus sus dos tres cuatro cinco seis diez": (None, True),
}


@cache
def determiners():
    return {word: agreement for line, agreement in DETERMINERS.items() for word in line.split()}


@cache
def spanish_verb_forms():
    verbs = {spanish.bare(one["spanish"]) for one in read_table("verbs") + read_table("givings")}
    return {
        form for verb in verbs for tense in ("present", "past") for form in spanish.conjugate(verb, tense)
    }


@cache
def spanish_nouns():
    """Spanish noun forms whose gender and number are certain."""
    found = {}
    for one in read_table("nouns"):
        for form, many in (
            (one["spanish"], False),
            (one["spanish_plural"] or spanish.plural(one["spanish"]), True),
        ):
            found.setdefault(form, set()).add((one["gender"], many))
    for one in read_table("people"):
        for gender, form in (("m", one["masculine"]), ("f", one["feminine"])):
            if form:
                found.setdefault(form, set()).add((gender, False))
                found.setdefault(spanish.plural(form), set()).add((gender, True))
    certain = {form: found[form].pop() for form in found if len(found[form]) == 1}
    return {form: certain[form] for form in certain if form not in spanish_verb_forms()}


def article_agrees(pair):
    """Each determiner before a noun agrees with it."""
    tokens = words(pair[1])
    for first, second in zip(tokens, tokens[1:], strict=False):
        if first in determiners() and second in spanish_nouns():
            (wanted, many), (gender, plural) = determiners()[first], spanish_nouns()[second]
            if gender == "f*" and not plural and first in ("el", "un"):
                continue
            if (
                many != plural
                or (wanted and wanted != gender[0])
                or (gender == "f*" and first in ("la", "una"))
            ):
                return False
    return True


@cache
def adjective_forms():
    """Adjective forms that show gender, with that gender and number."""
    table = [
        one for one in read_table("adjectives") if one["position"] != "before" and one["spanish"][-1] == "o"
    ]
    stems = [one["spanish"][:-1] for one in table]
    endings = {"o": ("m", False), "a": ("f", False), "os": ("m", True), "as": ("f", True)}
    found = {stem + ending: agreement for stem in stems for ending, agreement in endings.items()}
    other = {*spanish_verb_forms(), "rápido"}  # the adverb
    return {form: found[form] for form in found if form not in other}


def adjective_agrees(pair):
    """Each adjective right after a noun, or after a noun and a copula, agrees with it."""
    text = " ".join(words(pair[1]))
    for match in re.finditer(
        r"(?=\b(\w+) (?:(?:no )?(?:es|son|era|eran|está|están|estaba|estaban) (?:muy )?)?(\w+)\b)", text
    ):
        first, second = match.groups()
        if first in spanish_nouns() and second in adjective_forms():
            gender, many = spanish_nouns()[first]
            before = text[: match.start()].split()
            if (gender[0], many) != adjective_forms()[second] and not {"de", "y", "que"} & set(before):
                return False
    return True


@cache
def certain_translations():
    """English noun form to Spanish one, where neither is also a verb or another noun's translation."""
    table = read_table("nouns")
    spoken = set()
    for verb in {one["english"] for one in read_table("verbs") + read_table("givings")}:
        spoken |= {
            verb.split()[0],
            *(english.form(verb, which).split()[0] for which in ("third", "past", "gerund")),
        }
        spoken |= set(verb.split()[1:])
    spoken |= spanish_verb_forms()
    spoken |= {
        word for one in read_table("adjectives") + read_table("adverbials") for word in one["spanish"].split()
    }
    spoken |= {word for one in read_table("adjectives") for word in one["english"].lower().split()}
    forms = []
    for one in table:
        plurals = (
            one["plural"] or english.plural(one["english"]),
            one["spanish_plural"] or spanish.plural(one["spanish"]),
        )
        forms += [(one["english"].lower(), one["spanish"]), plurals]
    en, es = Counter(first for first, _ in forms), Counter(second for _, second in forms)
    certain = {a: b for a, b in forms if en[a] == es[b] == 1 and not {a, b} & spoken and " " not in a + b}
    # a living room is no room
    return {a: b for a, b in certain.items() if a not in ("room", "rooms")}


def nouns_translated(pair):
    """A noun form in English has its translation, in the same number, in Spanish."""
    en, es = set(words(pair[0])), set(words(pair[1]))
    return all(certain_translations()[word] in es for word in en if word in certain_translations())


@cache
def english_bases():
    verbs = {
        one["english"].split()[0]
        for one in read_table("verbs") + read_table("givings") + read_table("controls")
    }
    return verbs | {"be", "use", "like", "love", "hurt", "begin", "end", "think", "say"}


def do_support(pair):
    """A base form follows don't, doesn't, didn't, won't, can't; no -s follows "does" anywhere."""
    tokens = words(pair[0])
    for first, second in zip(tokens, tokens[1:], strict=False):
        if first in ("don't", "doesn't", "didn't", "won't", "can't", "shouldn't") and tokens[0] != "why":
            if second not in english_bases():
                return False
    if tokens[0] in ("does", "do", "did") and tokens[1] in ("he", "she", "you", "they"):
        return tokens[2] not in third_forms()[0]
    return True


@cache
def third_forms():
    bases = english_bases() - {"must", "can", "should"}
    return {english.form(base, "third") for base in bases}, {
        base for base in bases if english.form(base, "past") != base
    }


def english_person(pair):
    """he and she take -s in the present, the other pronouns do not."""
    first, second, *_ = [*words(pair[0]), ""]
    with_s, without = third_forms()
    if first in ("he", "she"):
        return second not in without
    return first not in ("i", "you", "we", "they") or second not in with_s


SKIPPED = set(
    "no nunca siempre ya todavía casi normalmente a menudo veces me te se nos lo la los le les".split()
)


def spanish_person(pair):
    """The ending of the first verb fits a pronoun subject that opens the sentence."""
    en, es = words(pair[0]), words(pair[1])
    if {"like", "likes", "liked", "love", "loved"} & set(en):  # the subject is what is liked
        return True
    rest = [word for word in es if word not in SKIPPED]
    if es[0] in ("él", "ella") and en[0] in ("he", "she"):
        return not re.search(r"(n|mos|(?<!vi)(?<!si)ste)$", rest[1])
    if es[0] == "ellos" and en[0] == "they":
        return rest[1].endswith("n")
    if en[0] == "we":
        return rest[0].endswith("mos")
    if en[0] == "you":
        return re.search(r"(s|ste)$", rest[0]) is not None
    return True


@pytest.mark.parametrize("check", dict.fromkeys(row["check"] for row in WRONG))
def test_every_pair(check, pairs):
    wrong = [pair for pair in pairs if not globals()[check](pair)]
    assert not wrong[:10], len(wrong)


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row["spanish"])
def test_the_checks_see_a_wrong_pair(row):
    assert not globals()[row["check"]]((row["english"], row["spanish"]))


GUSTAR = "gusta gustan encanta encantan duele duelen".split()
MANY = set("los las ellos mis tus sus nuestros nuestras estos estas esos esas".split())


def test_gustar(pairs):
    """The verb agrees with the thing that is liked, the pronoun with the person."""
    seen = Counter()
    for _, sentence in pairs:
        tokens = words(sentence)
        for word in set(GUSTAR) & set(tokens):
            place = tokens.index(word)
            assert word.endswith("n") == (tokens[place + 1] in MANY), sentence
            if tokens[place - 1] in ("le", "les"):
                several = tokens[1] in MANY or "y" in tokens[:place]
                assert (tokens[place - 1] == "les") == several, sentence
            seen[word] += 1
    assert len(seen) == len(GUSTAR) and min(seen.values()) > 20


def test_ser_and_estar(pairs):
    text = "\n".join(es.lower() for _, es in pairs)
    for wrong in (
        "está alto",
        "es cansado",
        "son cansados",
        "están altos",
        "es en el",
        "está de ",
        "es contenta",
    ):
        assert not re.search(rf"\b{wrong}", text), wrong
    for right in ("está cansado", "es alto", "son altos", "están cansados", "está en el", "es de méxico"):
        assert re.search(rf"\b{right}", text), right


def test_conventions(pairs):
    text = " ".join(word for _, es in pairs for word in words(es))
    spoken = set(text.split())
    assert not spoken & {"usted", "ustedes", "vosotros", "vosotras", "os"}
    by_english = dict(pairs)
    assert not [
        es for en, es in pairs if en.startswith(("I ", "We ", "You ")) and re.match(r"(Yo|Tú|Nosotros)\b", es)
    ]
    assert sum(en.startswith("She ") for en in by_english) > 3000
    wanted = {"She ": "Ella ", "He ": "Él ", "They ": "Ellos "}
    odd = [
        (en, es)
        for en, es in pairs
        for who, el in wanted.items()
        if en.startswith(who) and not es.startswith(el)
    ]
    assert all(re.match(r"A (él|ella|ellos) ", es) for _, es in odd)


@pytest.mark.parametrize("pattern", grammar.WANTED, ids=lambda pattern: pattern.__name__)
def test_each_pattern_keeps_its_types(pattern):
    dice = Dice(7)
    found = [grammar._draw(pattern, dice, number) for number in range(60)]
    assert sum(pair is not None for pair in found) > 3
    dice = Dice(7)
    assert [grammar._draw(pattern, dice, number) for number in range(60)] == found


def test_entries_of_a_kind():
    assert {one.english for one in lexicon.of_kind("places", "country")} >= {"Mexico", "Spain"}
    assert all(one.preposition for one in lexicon.of_kind("nouns", "place", "room", "party"))
    with pytest.raises(ValueError, match="no entry of people nouns is of kind fod or drnk"):
        lexicon.of_kind("people nouns", "fod", "drnk")


def test_every_kind_that_a_table_asks_for_exists():
    known = lexicon.entries("people") + lexicon.entries("nouns") + lexicon.entries("places")
    kinds = {kind for one in known for kind in one.kinds}
    for table in ("verbs", "givings", "adjectives", "measures", "prepositions"):
        for one in lexicon.entries(table):
            asked = {
                kind
                for column in ("object", "subject", "places", "kinds")
                for kind in vars(one).get(column, ())
            }
            assert asked <= kinds, (table, one.english, asked - kinds)


def test_spelling_changes_are_in_the_table():
    """Verbs in -car, -gar and -zar have an irregular preterite: busqué, pagué, empecé."""
    for one in read_table("verbs") + read_table("givings"):
        if re.search("[cgz]ar(se)?$", one["spanish"]):
            assert re.search("(qu|gu|c)é$", spanish.conjugate(spanish.bare(one["spanish"]), "past")[0]), one


def test_tables_are_whole():
    for path in sorted(data_folder().glob("*.csv")):
        assert tables.rows(path.stem), path
        assert b"\r" not in path.read_bytes()
    described = set(
        re.findall(r"^\| `(\w+)\.csv`", (data_folder() / "README.md").read_text("utf-8"), re.MULTILINE)
    )
    assert described == {path.stem for path in data_folder().glob("*.csv")}


def test_a_crooked_table_is_refused(tmp_path, monkeypatch):
    (tmp_path / "odd.csv").write_text("one,two\na,b\nc\n", "utf-8")
    monkeypatch.setattr(tables, "data_folder", lambda: tmp_path)
    with pytest.raises(ValueError, match="odd.csv, line 3: 1 cells, but the header has 2"):
        tables.rows("odd")


def test_two_translations_are_refused():
    answers = [("Yes.", "Sí."), None, ("Yes.", "Ya.")]
    with pytest.raises(ValueError, match="'Yes.' is both 'Sí.' and 'Ya.'"):
        generate(1, {test_finished: 3}, lambda pattern, dice, number: answers[number])


def test_no_more_is_drawn_than_is_wanted():
    drawn = []

    def draw(pattern, dice, number):
        drawn.append(number)
        return f"{pattern.__name__} {number // 2}.", "same"

    found = generate(1, {test_finished: 3, test_clauses: 1}, draw)
    assert list(found) == [f"test_finished {n}." for n in range(3)] + ["test_clauses 0."]
    assert drawn == [0, 1, 2, 3, 4, 0]
    assert generate(1, {test_finished: 2}, lambda pattern, dice, number: drawn.append(number)) == {}
    assert drawn[6:] == [*range(16)]  # it gives up after 8 draws per sentence
