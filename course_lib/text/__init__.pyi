from course_lib.text.bleu import (
    Bleu as Bleu,
)
from course_lib.text.bleu import (
    brevity_penalty as brevity_penalty,
)
from course_lib.text.bleu import (
    corpus_bleu as corpus_bleu,
)
from course_lib.text.bleu import (
    held_out_scores as held_out_scores,
)
from course_lib.text.bleu import (
    ngrams as ngrams,
)
from course_lib.text.bpe import ByteBPE as ByteBPE
from course_lib.text.error_analysis import error_kind as error_kind
from course_lib.text.error_analysis import sort_errors as sort_errors
from course_lib.text.kneser_ney import KneserNey as KneserNey
from course_lib.text.significance import (
    bleu_from_statistics as bleu_from_statistics,
)
from course_lib.text.significance import (
    bootstrap_bleu as bootstrap_bleu,
)
from course_lib.text.significance import (
    bootstrap_draws as bootstrap_draws,
)
from course_lib.text.significance import (
    interval as interval,
)
from course_lib.text.significance import (
    paired_bootstrap as paired_bootstrap,
)
from course_lib.text.significance import (
    sentence_statistics as sentence_statistics,
)
from course_lib.text.tokenizers import (
    BOS as BOS,
)
from course_lib.text.tokenizers import (
    CLS as CLS,
)
from course_lib.text.tokenizers import (
    EOS as EOS,
)
from course_lib.text.tokenizers import (
    PAD as PAD,
)
from course_lib.text.tokenizers import (
    UNK as UNK,
)
from course_lib.text.tokenizers import (
    CharTokenizer as CharTokenizer,
)
from course_lib.text.tokenizers import (
    Tokenizer as Tokenizer,
)
from course_lib.text.tokenizers import (
    WordTokenizer as WordTokenizer,
)
from course_lib.text.tokenizers import (
    load_tokenizer as load_tokenizer,
)
from course_lib.text.unigram import unigram_loss as unigram_loss
