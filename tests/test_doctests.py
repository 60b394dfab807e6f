"""The examples in docstrings run as written, and the names that students meet have one.

They are read from the source, because `doctest` by itself overlooks functions behind a decorator.
"""

import ast
import doctest
import importlib
from pathlib import Path

import pytest
import torch

LIBRARY = Path(__file__).resolve().parents[1] / "course_lib"
PACKAGES = (
    "layers",
    "models",
    "generation",
    "training",
    "text",
    "datasets",
    "tasks",
    "pretrained",
    "utils",
    "exercises",
)
FILES = [path for package in PACKAGES for path in sorted((LIBRARY / package).rglob("*.py"))]
FILES = [path for path in FILES if ">>>" in path.read_text(encoding="utf-8")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MET_BY_STUDENTS = {  # exported names
    "layers": """attention MultiHeadAttention AdditiveAttention masked_softmax causal_mask padding_mask
        valid_lens_mask FeedForward EncoderBlock DecoderBlock record_attention GrowingCache StaticCache
        MemoryCache sinusoidal SinusoidalPositions LearnedPositions RotaryPositions rotate
        Patches unfold_patches resize_positions PixelAttention LoRALinear add_lora merge_lora""",
    "models": """GPT GPTConfig Seq2Seq Seq2SeqConfig TextEncoder EncoderConfig ViT ViTConfig UNet
        residual_stream patch_residuals patching_map ablate_head head_outputs""",
    "generation": """greedy_decode sample stream generate beam_search next_token_probabilities keep_top_k
        keep_top_p keep_min_p speculative_decode verify BigramDraft quantize_rows quantize_linears
        TextGenerator repetition_penalty no_repeat_ngram min_length force_prefix suppress""",
    "training": """train TrainConfig learning_rate KeepBest WeightEMA Muon make_optimizer evaluating
        choose_precision autocast Checkpoints save_model""",
    "text": """Tokenizer CharTokenizer WordTokenizer ByteBPE load_tokenizer corpus_bleu brevity_penalty ngrams
        held_out_scores sentence_statistics bootstrap_draws bootstrap_bleu paired_bootstrap interval
        error_kind sort_errors unigram_loss KneserNey""",
    "datasets": """load_translation load_text load_images load_labelled list_datasets find_set split_pairs
        at_most pad BucketBatchSampler load_pairs load_image_folder load_labeled_texts TextFiles""",
    "tasks": """TranslationLoss TranslationBatches translate load_translator LanguageModelLoss TextBatches
        mean_loss perplexity bits_per_character continue_text stream_text load_language_model TextClassifier
        TextClassificationLoss LabelledBatches ImageBatches ImageClassificationLoss confusion_matrix
        RandomCrop RandomFlip Mixup CutMix PrefixLMBatches PrefixLMLoss mask_tokens add_noise dpo_loss
        load_run classify DPOLoss sequence_log_prob Diffusion DiffusionLoss reverse_process""",
    "pretrained": "load_gpt2 load_bert load_vit",
    "exercises": "recall conclude my_prediction quiz",
}


def examples(path: Path) -> list[doctest.DocTest]:
    """The examples of each docstring in a file.

    They see what a reader has imported: `torch`, the public names of the package, and the one documented.
    """
    parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
    package, module = (importlib.import_module(".".join(parts[:end])) for end in (2, None))
    public = {name: getattr(package, name) for name in getattr(package, "__all__", ())} | {"torch": torch}
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            text, line = ast.get_docstring(node, clean=False) or "", node.body[0].lineno - 1
            names = public | {node.name: getattr(module, node.name, None)}
            found.append(doctest.DocTestParser().get_doctest(text, names, node.name, str(path), line))
    return found


def failures(tests: list[doctest.DocTest]) -> str:
    """What `doctest` reports: each example that fails, with what was expected and what came."""
    report: list[str] = []
    for test in tests:
        torch.manual_seed(0)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(LIBRARY).as_posix())
def test_the_examples_in_a_file_run(path, unchecked):
    if wrong := failures(examples(path)):
        pytest.fail(wrong, pytrace=False)


def test_every_example_is_found_and_would_fail_with_another_result(unchecked):
    """Also that of a context manager, `record_attention`."""
    for path in FILES:
        number = sum(len(test.examples) for test in examples(path))
        assert number == path.read_text(encoding="utf-8").count(">>> "), path
    [test] = (test for test in examples(LIBRARY / "layers" / "hooks.py") if test.examples)
    test.examples[-1].want = "torch.Size([2, 3, 5, 6])\n"
    assert "torch.Size([2, 3, 5, 5])" in failures([test])


@pytest.mark.parametrize("package", MET_BY_STUDENTS)
def test_what_students_meet_has_an_example(package):
    module = importlib.import_module(f"course_lib.{package}")
    for name in MET_BY_STUDENTS[package].split():
        assert name in module.__all__
        assert "\n    >>> " in getattr(module, name).__doc__, name
