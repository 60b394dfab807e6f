from course_lib.tasks.augmentation import (
    CutMix as CutMix,
)
from course_lib.tasks.augmentation import (
    Mixup as Mixup,
)
from course_lib.tasks.augmentation import (
    RandAugment as RandAugment,
)
from course_lib.tasks.augmentation import (
    RandomCrop as RandomCrop,
)
from course_lib.tasks.augmentation import (
    RandomFlip as RandomFlip,
)
from course_lib.tasks.diffusion import (
    Diffusion as Diffusion,
)
from course_lib.tasks.diffusion import (
    DiffusionLoss as DiffusionLoss,
)
from course_lib.tasks.diffusion import (
    noise_loss as noise_loss,
)
from course_lib.tasks.diffusion import (
    reverse_process as reverse_process,
)
from course_lib.tasks.image_classification import (
    ImageBatches as ImageBatches,
)
from course_lib.tasks.image_classification import (
    ImageClassificationLoss as ImageClassificationLoss,
)
from course_lib.tasks.image_classification import (
    confusion_matrix as confusion_matrix,
)
from course_lib.tasks.image_classification import (
    load_classifier as load_classifier,
)
from course_lib.tasks.image_classification import (
    save_classifier as save_classifier,
)
from course_lib.tasks.instructions import (
    accuracy_by_task as accuracy_by_task,
)
from course_lib.tasks.instructions import (
    document_ids as document_ids,
)
from course_lib.tasks.instructions import (
    instruction_pairs as instruction_pairs,
)
from course_lib.tasks.instructions import (
    instruction_tokenizer as instruction_tokenizer,
)
from course_lib.tasks.instructions import (
    is_chatty as is_chatty,
)
from course_lib.tasks.instructions import (
    is_correct as is_correct,
)
from course_lib.tasks.instructions import (
    raw_documents as raw_documents,
)
from course_lib.tasks.instructions import (
    respond as respond,
)
from course_lib.tasks.language_modeling import (
    LanguageModelLoss as LanguageModelLoss,
)
from course_lib.tasks.language_modeling import (
    TextBatches as TextBatches,
)
from course_lib.tasks.language_modeling import (
    bits_per_character as bits_per_character,
)
from course_lib.tasks.language_modeling import (
    continue_text as continue_text,
)
from course_lib.tasks.language_modeling import (
    load_language_model as load_language_model,
)
from course_lib.tasks.language_modeling import (
    mean_loss as mean_loss,
)
from course_lib.tasks.language_modeling import (
    perplexity as perplexity,
)
from course_lib.tasks.language_modeling import (
    save_language_model as save_language_model,
)
from course_lib.tasks.language_modeling import (
    stream_text as stream_text,
)
from course_lib.tasks.preferences import (
    DPOLoss as DPOLoss,
)
from course_lib.tasks.preferences import (
    Preference as Preference,
)
from course_lib.tasks.preferences import (
    PreferenceBatches as PreferenceBatches,
)
from course_lib.tasks.preferences import (
    dpo_loss as dpo_loss,
)
from course_lib.tasks.preferences import (
    sequence_log_prob as sequence_log_prob,
)
from course_lib.tasks.prefix_lm import (
    PrefixLMBatches as PrefixLMBatches,
)
from course_lib.tasks.prefix_lm import (
    PrefixLMLoss as PrefixLMLoss,
)
from course_lib.tasks.prefix_lm import (
    translate_with_lm as translate_with_lm,
)
from course_lib.tasks.pretraining import (
    PretrainingBatches as PretrainingBatches,
)
from course_lib.tasks.pretraining import (
    add_noise as add_noise,
)
from course_lib.tasks.pretraining import (
    mask_tokens as mask_tokens,
)
from course_lib.tasks.runs import Run as Run
from course_lib.tasks.runs import classify as classify
from course_lib.tasks.runs import load_run as load_run
from course_lib.tasks.text_classification import (
    LabelledBatches as LabelledBatches,
)
from course_lib.tasks.text_classification import (
    TextClassificationLoss as TextClassificationLoss,
)
from course_lib.tasks.text_classification import (
    TextClassifier as TextClassifier,
)
from course_lib.tasks.translation import (
    TranslationBatches as TranslationBatches,
)
from course_lib.tasks.translation import (
    TranslationDataset as TranslationDataset,
)
from course_lib.tasks.translation import (
    TranslationLoss as TranslationLoss,
)
from course_lib.tasks.translation import (
    load_translator as load_translator,
)
from course_lib.tasks.translation import (
    save_translator as save_translator,
)
from course_lib.tasks.translation import (
    translate as translate,
)
