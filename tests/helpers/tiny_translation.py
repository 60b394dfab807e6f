"""A few sentences in two languages, and the settings of a small translator for them."""

from course_lib.datasets import TranslationData

PAIRS = [
    (f"{who} {deed} {what}", f"{wer} {tat} {was}")
    for who, wer in (("he", "él"), ("she", "ella"), ("nobody", "nadie"))
    for deed, tat in (("buys", "compra"), ("sees", "ve"))
    for what, was in (("bread", "pan"), ("books", "libros"), ("a house", "una casa"))
]
DATA = TranslationData(
    name="tiny", source="English", target="Spanish", max_words=None,
    train=PAIRS, validation=PAIRS[:3], test=PAIRS[:2], left_out=[],
)  # fmt: skip
SMALL = {"d_model": 16, "heads": 2, "d_ff": 24, "layers": 1, "vocab": 90, "batch": 4}
