"""Catalog entries: labeled sentences."""

from course_lib.datasets.spec import DataSet

VERDICTS = ("negative", "positive")
_SST2 = {
    "train": "ec192f833a64da08f475488a77b0d0b47db47acd0f458bd18433fc793b569920",
    "dev": "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359",
    "test": "831169c7e2e429d6026e1bdbb542f33b636e3e596caad9602ebc953c205928b7",
}
_SST2_SITES = (
    "https://raw.githubusercontent.com/clairett/pytorch-sentiment-classification/master",
    "https://github.com/clairett/pytorch-sentiment-classification/raw/master",
)


def _sst2(part: str = "", sha256: str = "") -> DataSet:
    """SST-2, or one of its three files, each line `sentence TAB label`."""
    return DataSet(
        name="sst2",
        about="9,613 sentences from movie reviews, negative or positive (SST-2, whole sentences only)",
        license="none stated (Socher et al. 2013, Stanford Sentiment Treebank)",
        source="English",
        file=f"sst2/{part}.tsv" if part else "sst2",
        urls=tuple(f"{site}/data/SST2/{part}.tsv" for site in _SST2_SITES if part),
        sha256=sha256,
        parts=() if part else tuple(_sst2(*one) for one in _SST2.items()),
        classes=VERDICTS,
    )


LABELLED_SETS = (
    DataSet(
        name="reviews",
        about="12,200 opinions with negations and contrasts, negative or positive; part of the course",
        license="MIT",
        source="English",
        classes=VERDICTS,
    ),
    _sst2(),
)
