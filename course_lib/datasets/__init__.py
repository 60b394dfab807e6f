"""Data sets by name: sentence pairs, texts, images and labeled sentences, with fixed splits.

catalog               what each set is, in catalog.toml, and how its files are verified
location              finding and downloading files: $COURSE_DATA, cache, network
archives, pickles     safe reading of files that may be damaged or hostile
pairs, texts          loaders of sentence pairs and of texts
images, image_data    loader of labeled images, and the classes that hold them
classification        loader of labeled sentences
text_files            your own texts from files
own_data, own_images  your own pairs, labeled texts and images from files
splits                train/validation/test split grouped by sentence
labels                label checks
batching              padding, length bucketing, batch samplers that can resume
grammar               the course's own English-Spanish sentences and reviews
"""

from course_lib.utils.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)  # the names in __init__.pyi
