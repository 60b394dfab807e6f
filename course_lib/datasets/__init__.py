"""Sentence pairs, texts, images and labelled sentences by name: where they come from, how they are divided.

entry.py       what is known of a set: its file, its addresses, its checksums
sets.py        the catalogue
image_sets.py  its sets of images
labelled_sets.py  its sets of labelled sentences
places.py      how a file is found: $COURSE_DATA, cache, download
archives.py    reading an archive that may be damaged or hostile
pickles.py     reading arrays from a pickle that may be hostile
pairs.py       from file to clean pairs to training, validation and test sentences
splits.py      the division of pairs: no sentence of either language on two sides
texts.py       from file to training, validation and test texts
images.py      from file to training, validation and test images
labels.py      what is asked of labels everywhere
labelled.py    from file to training, validation and test sentences with labels
"""

from course_lib.datasets.archives import BrokenArchive
from course_lib.datasets.entry import DataSet
from course_lib.datasets.images import ImageData, ImageSplit, load_images
from course_lib.datasets.labelled import LabelledData, LabelledSplit, load_labelled
from course_lib.datasets.labels import check_labels, check_number
from course_lib.datasets.pairs import TranslationData, at_most, load_pairs, load_translation
from course_lib.datasets.places import DataSetUnavailable, find, find_files, locate, locate_files
from course_lib.datasets.sets import catalogue, find_set
from course_lib.datasets.splits import Pair, Splits, fingerprint, split_pairs
from course_lib.datasets.texts import TextData, load_text

__all__ = [
    "BrokenArchive",
    "DataSet",
    "DataSetUnavailable",
    "ImageData",
    "ImageSplit",
    "LabelledData",
    "LabelledSplit",
    "Pair",
    "Splits",
    "TextData",
    "TranslationData",
    "at_most",
    "catalogue",
    "check_labels",
    "check_number",
    "find",
    "find_files",
    "find_set",
    "fingerprint",
    "load_images",
    "load_labelled",
    "load_pairs",
    "load_text",
    "load_translation",
    "locate",
    "locate_files",
    "split_pairs",
]
