"""Sentence pairs and texts by name: where they come from, how they are checked, how they are divided.

sets.py      the catalogue: each set, its addresses and its checksums
places.py    how a file is found: $COURSE_DATA, cache, download
archives.py  reading an archive that may be damaged or hostile
pairs.py     from file to clean pairs to training, validation and test sentences
texts.py     from file to training, validation and test texts
splits.py    the division itself: no sentence of either language on two sides
"""

from course_lib.datasets.archives import BrokenArchive
from course_lib.datasets.pairs import TranslationData, at_most, load_pairs, load_translation
from course_lib.datasets.places import DataSetUnavailable, find, locate
from course_lib.datasets.sets import DataSet, catalogue, find_set
from course_lib.datasets.splits import Pair, Splits, fingerprint, split_pairs
from course_lib.datasets.texts import TextData, load_text

__all__ = [
    "BrokenArchive",
    "DataSet",
    "DataSetUnavailable",
    "Pair",
    "Splits",
    "TextData",
    "TranslationData",
    "at_most",
    "catalogue",
    "find",
    "find_set",
    "fingerprint",
    "load_pairs",
    "load_text",
    "load_translation",
    "locate",
    "split_pairs",
]
