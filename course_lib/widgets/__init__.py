"""Things to move with the mouse or the arrow keys: `softmax_explorer()` in a cell of its own.

Each is an `Explorer`: a few controls, one picture, one line of text. `projector()` makes the next ones large.
"""

from course_lib.widgets.anatomy import anatomy_explorer
from course_lib.widgets.bleu_bench import bleu_explorer
from course_lib.widgets.class_attention import class_attention_explorer
from course_lib.widgets.classification import classification_explorer
from course_lib.widgets.confusion import confusion_explorer
from course_lib.widgets.diffusion import diffusion_explorer
from course_lib.widgets.explorer import Explorer, projector
from course_lib.widgets.heads import heads_explorer
from course_lib.widgets.logit_lens import logit_lens_explorer
from course_lib.widgets.lookup import lookup_explorer
from course_lib.widgets.masks import mask_explorer
from course_lib.widgets.norms import norm_explorer
from course_lib.widgets.patches import patch_explorer
from course_lib.widgets.pixels import pixel_attention_explorer
from course_lib.widgets.plotted_loss import plotted_loss_explorer
from course_lib.widgets.positions import positions_explorer
from course_lib.widgets.sampler import sampler_explorer
from course_lib.widgets.schedules import schedule_explorer
from course_lib.widgets.scoring import scoring_explorer
from course_lib.widgets.shapes import bmm_explorer
from course_lib.widgets.softmax import softmax_explorer
from course_lib.widgets.text_attention import text_attention_explorer
from course_lib.widgets.translation import translation_explorer
from course_lib.widgets.walk import block_explorer

__all__ = [
    "Explorer",
    "anatomy_explorer",
    "bleu_explorer",
    "block_explorer",
    "bmm_explorer",
    "classification_explorer",
    "class_attention_explorer",
    "confusion_explorer",
    "diffusion_explorer",
    "heads_explorer",
    "logit_lens_explorer",
    "lookup_explorer",
    "mask_explorer",
    "norm_explorer",
    "patch_explorer",
    "pixel_attention_explorer",
    "plotted_loss_explorer",
    "positions_explorer",
    "projector",
    "sampler_explorer",
    "schedule_explorer",
    "scoring_explorer",
    "softmax_explorer",
    "text_attention_explorer",
    "translation_explorer",
]
