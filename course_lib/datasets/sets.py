"""The data sets by name; a new set is one more entry of `_ENTRIES`."""

from course_lib.datasets.entry import DataSet
from course_lib.datasets.image_sets import IMAGE_SETS
from course_lib.datasets.labelled_sets import LABELLED_SETS


def _multi30k(file: str = "", sha256: str = "") -> DataSet:
    """Multi30k, or one of its six files, as they lie in the repository of its authors."""
    sites = ("raw.githubusercontent.com/multi30k/dataset", "github.com/multi30k/dataset/raw")
    return DataSet(
        name="multi30k",
        about="captions of photographs, and their translations (Multi30k, task 1, raw; test of 2016)",
        licence="for non-commercial research and education; partly from Flickr30K",
        source="German",
        target="English",
        file=f"multi30k/{file}.gz" if file else "multi30k",
        urls=tuple(f"https://{site}/master/data/task1/raw/{file}.gz" for site in sites if file),
        sha256=sha256,
        parts=() if file else tuple(_multi30k(*part) for part in _MULTI30K.items()),
    )


_MULTI30K = {
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "test_2016_flickr.de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
}


def _wikitext(part: str, text_sha256: str) -> DataSet:
    """One of the three files of WikiText-2."""
    folder = "pytorch/examples/{}/word_language_model/data/wikitext-2"
    return DataSet(
        name=f"wikitext-2, {part}",
        about=f"the {part} part of WikiText-2",
        licence="CC BY-SA; text from Wikipedia",
        source="English",
        file=f"wikitext-2/{part}.txt",
        urls=(
            f"https://raw.githubusercontent.com/{folder.format('main')}/{part}.txt",
            f"https://github.com/{folder.format('raw/main')}/{part}.txt",
        ),
        text_sha256=text_sha256,
    )


_TATOEBA = "CC BY 2.0; sentences from tatoeba.org, chosen by manythings.org/anki"
_ENTRIES = (
    DataSet(
        name="grammar",
        about="phrases made by the course's own grammar, at most 8 words; part of the course",
        licence="MIT",
        source="English",
        target="Spanish",
    ),
    DataSet(
        name="spa-eng",
        about="sentences written and translated by volunteers (Tatoeba, 2018-05-13)",
        licence=_TATOEBA,
        source="English",
        target="Spanish",
        file="spa-eng/spa-eng.zip",
        urls=(
            "https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
            "https://download.tensorflow.org/data/spa-eng.zip",
        ),
        member="spa-eng/spa.txt",
        member_sha256="6ec60e212f812ee3430f7568ea6f33b6fb080e32193c5952e8da0ee8ba45574c",
        pairs=118_964,
    ),
    DataSet(
        name="fra-eng",
        about="sentences written and translated by volunteers (Tatoeba, 2019-04-07), the set of d2l",
        licence=_TATOEBA,
        source="English",
        target="French",
        file="d2l/fra-eng.zip",
        urls=(
            "https://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
            "https://d2l-data.s3.amazonaws.com/fra-eng.zip",
        ),
        sha256="fa96382b2c8b609e1662654c1e6e6baeb8d30b3bf63dfb4a5a261cc36347df13",
        member="fra-eng/fra.txt",
        pairs=167_130,
    ),
    _multi30k(),
    DataSet(
        name="tinyshakespeare",
        about="plays of Shakespeare in one file of 1.1 million characters, the text of char-rnn and nanoGPT",
        licence="public domain",
        source="English",
        file="tinyshakespeare/input.txt",
        urls=(
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
            "https://raw.githubusercontent.com/pytorch/examples/main/distributed/minGPT-ddp/mingpt/data/input.txt",
        ),
        sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
    ),
    DataSet(
        name="timemachine",
        about="The Time Machine by H. G. Wells, the text of d2l",
        licence="public domain",
        source="English",
        file="d2l/timemachine.txt",
        urls=(
            "https://d2l-data.s3-accelerate.amazonaws.com/timemachine.txt",
            "https://d2l-data.s3.amazonaws.com/timemachine.txt",
        ),
        sha256="8424dbd9532ac81f7e5f0b6add90e6952baea29158309d7d1bf3884f4e12c516",
    ),
    DataSet(
        name="wikitext-2",
        about="articles of Wikipedia, two million words between blanks, rare ones as <unk> (WikiText-2)",
        licence="CC BY-SA; text from Wikipedia",
        source="English",
        file="wikitext-2",
        parts=(
            _wikitext("train", "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f"),
            _wikitext("valid", "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"),
            _wikitext("test", "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"),
        ),
    ),
    *IMAGE_SETS,
    *LABELLED_SETS,
)


def catalogue() -> dict[str, DataSet]:
    """All data sets by name."""
    return {entry.name: entry for entry in _ENTRIES}


def find_set(name: str) -> DataSet:
    """The data set of this name; raises ValueError that lists the known names."""
    sets = catalogue()
    if name not in sets:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(sets)}")
    return sets[name]
