"""DLStudio's translation Transformers and vision Transformer, with a switch for each of their deviations.

deviations.py       switches of the model, and the lecture's settings
attention.py      attention with the deviations
blocks.py         sizes; Basic Encoder and Basic Decoder
embeddings.py     embeddings and positions
transformer.py    Master Encoder, Master Decoder, TransformerFG, TransformerPreLN
words.py          vocabulary and ids
procedure.py      training and evaluation, with their switches
demonstration.py  the lecture's twenty translations, with held-out ones for comparison
pixels.py         pixel attention of the diffusion module

Source: DLStudio 2.4.3 (A. C. Kak), which produced the lecture's results; Kak slides 32-82.
"""

from course_lib.lectures.dlstudio.attention import DLStudioAttention, dlstudio_attention
from course_lib.lectures.dlstudio.blocks import BasicDecoder, BasicEncoder, DLStudioConfig
from course_lib.lectures.dlstudio.demonstration import (
    Corpus,
    Demonstration,
    Score,
    Translation,
    corpus_of,
    demonstrate,
    score,
    small_model,
    translations,
)
from course_lib.lectures.dlstudio.deviations import Deviations
from course_lib.lectures.dlstudio.embeddings import EmbeddingsGenerator
from course_lib.lectures.dlstudio.pixels import AttentionBlock, as_pixel_attention, part_by_part
from course_lib.lectures.dlstudio.procedure import Procedure, evaluation, loss_of, training, translate
from course_lib.lectures.dlstudio.transformer import (
    MasterDecoder,
    MasterEncoder,
    TransformerFG,
    TransformerPreLN,
)
from course_lib.lectures.dlstudio.vision import (
    VisionConfig,
    VisionDeviations,
    VisTransformer,
    scrambled_patches,
)
from course_lib.lectures.dlstudio.words import EOS, SOS, Vocabulary, real_words

__all__ = [
    "EOS",
    "SOS",
    "AttentionBlock",
    "BasicDecoder",
    "BasicEncoder",
    "Corpus",
    "DLStudioConfig",
    "Demonstration",
    "EmbeddingsGenerator",
    "MasterDecoder",
    "MasterEncoder",
    "DLStudioAttention",
    "Deviations",
    "Procedure",
    "Score",
    "TransformerFG",
    "TransformerPreLN",
    "Translation",
    "VisTransformer",
    "VisionConfig",
    "VisionDeviations",
    "Vocabulary",
    "as_pixel_attention",
    "corpus_of",
    "demonstrate",
    "evaluation",
    "loss_of",
    "dlstudio_attention",
    "part_by_part",
    "real_words",
    "score",
    "scrambled_patches",
    "small_model",
    "training",
    "translate",
    "translations",
]
