"""`train translation`: a translator, trained on sentence pairs, measured on held-out ones, and saved."""

from course_lib.commands import train_settings

BEAM = 4
HELP = "a translator from one language to another"


def add_arguments(kind):
    """Data, sizes, and how to train; what is not given comes from a preset."""
    base = {**train_settings.presets("translation")["spa-eng-8"], "minutes": 10.0}
    del base["steps"]
    own = (
        ("data", str, "name of a data set"),
        ("max-words", int, "the longest sentence, in words; 0: any"),
        ("vocab", int, "tokens of the shared vocabulary"),
        ("d-model", int, "width of the vectors"),
        ("layers", int, "blocks of the encoder, and of the decoder"),
        ("dropout", float, "probability; pays after several epochs"),
        ("label-smoothing", float, "share of the target probability spread over all tokens"),
    )
    kind.add_argument("--heads", type=int, help="attention heads (one for each 64 of d_model)")
    kind.add_argument("--d-ff", type=int, help="width of the feed-forward layers (four times d_model)")
    train_settings.add_arguments(kind, "translation", base, own)


def run(args) -> int:
    """Train, measure on the held-out sentences, save; what was asked for and what came out is printed."""
    from course_lib.training import train
    from course_lib.translation import save_translator

    out = train_settings.folder(args)
    data, tokens, objective, batches, config = prepare(args)
    size = sum(p.numel() for p in objective.parameters())
    print(f"{data.name}: {len(data.train):,} pairs to train on, {len(data.test):,} held out for the test")
    print(f"{size:,} parameters, {len(tokens):,} tokens in the vocabulary; checkpoints in {out}")
    history = train(objective, batches, config, folder=out / "checkpoints", device=args.device)
    if not train_settings.is_main():
        return 0
    print(train_settings.summary(history, "target tokens"))
    report(data, objective.model, tokens)
    save_translator(out / "model", objective.model, tokens)
    print(f"The model is in {out / 'model'}.")
    return 0


def prepare(args):
    """Data, vocabulary, model with its loss, batches and settings, as the arguments say."""
    import torch

    from course_lib.datasets import load_translation
    from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
    from course_lib.tokens import Tokens
    from course_lib.translation import TranslationBatches, TranslationObjective

    data = load_translation(args.data, max_words=args.max_words or None)
    tokens = Tokens.train((text for pair in data.train for text in pair), vocab=args.vocab)
    sizes = Seq2SeqConfig(
        vocab=len(tokens),
        d_model=args.d_model,
        heads=args.heads or max(1, args.d_model // 64),
        d_ff=args.d_ff or 4 * args.d_model,
        encoder_layers=args.layers,
        decoder_layers=args.layers,
        dropout=args.dropout,
    )
    torch.manual_seed(args.seed)
    objective = TranslationObjective(Seq2Seq(sizes), args.label_smoothing)
    batches = TranslationBatches(data.train, tokens, args.batch, sizes.max_tokens, args.seed)
    return data, tokens, objective, batches, train_settings.train_config(args)


def report(data, model, tokens, samples: int = 8) -> None:
    """Scores on the held-out test sentences, both ways of decoding, and some of the beam's translations."""
    from course_lib.bleu import held_out_scores
    from course_lib.translation import translate

    sources, references = zip(*data.test, strict=True)
    for way, width in (("greedy", 1), (f"beam of {BEAM}", BEAM)):
        translations = translate(model, tokens, sources, width=width)
        scores = held_out_scores(translations, list(references))
        print(
            f"held-out, {way}: BLEU {scores.bleu:.1f}, chrF {scores.chrf:.1f} on {len(sources):,} sentences"
        )
    print(f"({scores.signature})")
    for row in range(0, len(sources), max(1, len(sources) // samples))[:samples]:
        print(f"  {sources[row]}\n    → {translations[row]}\n    = {references[row]}")
