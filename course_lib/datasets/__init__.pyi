from course_lib.datasets.archives import BrokenArchive as BrokenArchive
from course_lib.datasets.batching import (
    Batches as Batches,
)
from course_lib.datasets.batching import (
    BucketBatchSampler as BucketBatchSampler,
)
from course_lib.datasets.batching import (
    EpochBatchSampler as EpochBatchSampler,
)
from course_lib.datasets.batching import (
    pad as pad,
)
from course_lib.datasets.catalog import DataSet as DataSet
from course_lib.datasets.catalog import find_set as find_set
from course_lib.datasets.catalog import list_datasets as list_datasets
from course_lib.datasets.classification import (
    LabelledData as LabelledData,
)
from course_lib.datasets.classification import (
    LabelledSplit as LabelledSplit,
)
from course_lib.datasets.classification import (
    load_labelled as load_labelled,
)
from course_lib.datasets.image_data import ImageData as ImageData
from course_lib.datasets.image_data import ImageSplit as ImageSplit
from course_lib.datasets.images import load_images as load_images
from course_lib.datasets.labels import check_labels as check_labels
from course_lib.datasets.labels import check_number as check_number
from course_lib.datasets.location import (
    DataSetUnavailable as DataSetUnavailable,
)
from course_lib.datasets.location import (
    find as find,
)
from course_lib.datasets.location import (
    find_files as find_files,
)
from course_lib.datasets.location import (
    locate as locate,
)
from course_lib.datasets.location import (
    locate_files as locate_files,
)
from course_lib.datasets.own_data import load_labeled_texts as load_labeled_texts
from course_lib.datasets.own_images import load_image_folder as load_image_folder
from course_lib.datasets.pairs import (
    TranslationData as TranslationData,
)
from course_lib.datasets.pairs import (
    at_most as at_most,
)
from course_lib.datasets.pairs import (
    load_pairs as load_pairs,
)
from course_lib.datasets.pairs import (
    load_translation as load_translation,
)
from course_lib.datasets.splits import (
    Pair as Pair,
)
from course_lib.datasets.splits import (
    Splits as Splits,
)
from course_lib.datasets.splits import (
    fingerprint as fingerprint,
)
from course_lib.datasets.splits import (
    split_pairs as split_pairs,
)
from course_lib.datasets.text_files import TextFiles as TextFiles
from course_lib.datasets.texts import TextData as TextData
from course_lib.datasets.texts import load_text as load_text
