"""Generation: greedy, sampling, beam search, speculative decoding, int8 weights, engine and state."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "beam": ["BeamSearch", "Hypothesis", "beam_search"],
    "decoding": ["Generator", "generate", "greedy_decode", "sample"],
    "drafts": ["BigramDraft", "ModelDraft"],
    "engine": ["Seq2SeqEngine"],
    "quantization": ["Int8Linear", "quantize_linears", "quantize_rows"],
    "sampling": ["keep_min_p", "keep_top_k", "keep_top_p", "next_token_probabilities"],
    "speculative": ["Speculation", "speculative_decode", "verify"],
    "state": ["CompiledStep", "TextGenerator"],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
