from course_lib.generation.beam import (
    BeamSearch as BeamSearch,
)
from course_lib.generation.beam import (
    Hypothesis as Hypothesis,
)
from course_lib.generation.beam import (
    beam_search as beam_search,
)
from course_lib.generation.constraints import (
    force_prefix as force_prefix,
)
from course_lib.generation.constraints import (
    min_length as min_length,
)
from course_lib.generation.constraints import (
    no_repeat_ngram as no_repeat_ngram,
)
from course_lib.generation.constraints import (
    repetition_penalty as repetition_penalty,
)
from course_lib.generation.constraints import (
    suppress as suppress,
)
from course_lib.generation.decoding import (
    Generator as Generator,
)
from course_lib.generation.decoding import (
    generate as generate,
)
from course_lib.generation.decoding import (
    greedy_decode as greedy_decode,
)
from course_lib.generation.decoding import (
    sample as sample,
)
from course_lib.generation.decoding import (
    stream as stream,
)
from course_lib.generation.drafts import BigramDraft as BigramDraft
from course_lib.generation.drafts import ModelDraft as ModelDraft
from course_lib.generation.quantization import (
    Int8Linear as Int8Linear,
)
from course_lib.generation.quantization import (
    quantize_linears as quantize_linears,
)
from course_lib.generation.quantization import (
    quantize_rows as quantize_rows,
)
from course_lib.generation.sampling import (
    keep_min_p as keep_min_p,
)
from course_lib.generation.sampling import (
    keep_top_k as keep_top_k,
)
from course_lib.generation.sampling import (
    keep_top_p as keep_top_p,
)
from course_lib.generation.sampling import (
    next_token_probabilities as next_token_probabilities,
)
from course_lib.generation.speculative import (
    Speculation as Speculation,
)
from course_lib.generation.speculative import (
    speculative_decode as speculative_decode,
)
from course_lib.generation.speculative import (
    verify as verify,
)
from course_lib.generation.state import TextGenerator as TextGenerator
