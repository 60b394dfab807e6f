"""`train translation`: a translator, trained on sentence pairs, measured on held-out ones, and saved."""

from pathlib import Path

BEAM = 4
HELP = "train a model from the command line, and measure it on held-out data"


def add_arguments(parser):
    kinds = parser.add_subparsers(dest="what", required=True, metavar="what")
    kind = kinds.add_parser("translation", help="a translator from one language to another")
    kind.add_argument("--data", default="spa-eng", help="name of a data set (spa-eng)")
    kind.add_argument("--max-words", type=int, default=8, help="the longest sentence, in words; 0: any (8)")
    length = kind.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, help="how long to train (10)")
    length.add_argument("--steps", type=int, help="how long to train, in steps")
    kind.add_argument("--device", help="cpu, cuda, … (a GPU where there is one)")
    kind.add_argument("--out", type=Path, help="folder of checkpoints and model (runs/translation-<data>)")
    kind.add_argument("--vocab", type=int, default=6000, help="tokens of the shared vocabulary (6000)")
    kind.add_argument("--d-model", type=int, default=192, help="width of the vectors (192)")
    kind.add_argument("--layers", type=int, default=2, help="blocks of the encoder, and of the decoder (2)")
    kind.add_argument("--batch", type=int, default=64, help="sentences in a batch (64)")
    kind.add_argument("--lr", type=float, default=2e-3, help="peak learning rate (0.002)")
    kind.add_argument("--warmup", type=int, default=300, help="steps of warm-up (300)")
    kind.add_argument("--dropout", type=float, default=0.0, help="probability; pays after several epochs (0)")
    kind.add_argument("--precision", default="auto", help="auto, fp32, bf16 or fp16 (auto)")
    kind.add_argument("--compile", action="store_true", help="compile the model first")
    kind.add_argument("--checkpoint-every", type=int, default=500, help="steps between checkpoints (500)")
    kind.add_argument("--seed", type=int, default=0, help="of weights, batches and dropout (0)")


def run(args) -> int:
    from course_lib.datasets import BrokenArchive, DataSetUnavailable
    from course_lib.training import Diverged

    try:
        return train_translation(args)
    except (ValueError, OSError, DataSetUnavailable, BrokenArchive, Diverged) as problem:
        print(f"Not trained: {problem}")
        return 1


def train_translation(args) -> int:
    """Train, measure on the held-out sentences, save; what was asked for and what came out is printed."""
    from course_lib.training import train
    from course_lib.translation import save_translator

    out = args.out or Path("runs") / f"translation-{args.data}"
    data, tokens, objective, batches, config = prepare(args)
    size = sum(p.numel() for p in objective.parameters())
    print(f"{data.name}: {len(data.train):,} pairs to train on, {len(data.test):,} held out for the test")
    print(f"{size:,} parameters, {len(tokens):,} tokens in the vocabulary; checkpoints in {out}")
    history = train(objective, batches, config, folder=out / "checkpoints", device=args.device)
    print(
        f"{history.steps:,} steps in {history.seconds / 60:.1f} minutes, "
        f"{history.tokens / history.seconds:,.0f} target tokens per second; "
        f"last losses {sum(history.losses[-100:]) / len(history.losses[-100:]):.3f}"
    )
    report(data, objective.model, tokens)
    save_translator(out / "model", objective.model, tokens)
    print(f"The model is in {out / 'model'}.")
    return 0


def prepare(args):
    """Data, vocabulary, model with its loss, batches and settings, as the arguments say."""
    import torch

    from course_lib.datasets import load_translation
    from course_lib.schedules import TrainConfig
    from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
    from course_lib.tokens import Tokens
    from course_lib.translation import TranslationBatches, TranslationObjective

    data = load_translation(args.data, max_words=args.max_words or None)
    tokens = Tokens.train((text for pair in data.train for text in pair), vocab=args.vocab)
    sizes = Seq2SeqConfig(
        vocab=len(tokens),
        d_model=args.d_model,
        heads=max(1, args.d_model // 64),
        d_ff=4 * args.d_model,
        encoder_layers=args.layers,
        decoder_layers=args.layers,
        dropout=args.dropout,
    )
    torch.manual_seed(args.seed)
    objective = TranslationObjective(Seq2Seq(sizes))
    config = TrainConfig(
        steps=args.steps,
        minutes=None if args.steps else args.minutes or 10.0,
        lr=args.lr,
        warmup=args.warmup,
        precision=args.precision,
        compile=args.compile,
        checkpoint_every=args.checkpoint_every,
        seed=args.seed,
    )
    batches = TranslationBatches(data.train, tokens, args.batch, sizes.max_tokens, args.seed)
    return data, tokens, objective, batches, config


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
