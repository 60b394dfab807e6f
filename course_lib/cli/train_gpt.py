"""`train gpt`: a language model, trained on a text, measured on held-out text, and saved."""

from course_lib.cli import arguments, train_settings
from course_lib.cli.arguments import not_negative, number, probability, size
from course_lib.experiments import recipes

HELP = "trains a language model that continues texts"
TOKENS = ("characters", "words", "bpe")
SAMPLE = 400  # tokens that are written at the end
WATCHED = 20_000  # tokens of the validation text, for early stopping


def add_arguments(kind):
    """Text, vocabulary, sizes, and how to train; what is not given comes from a preset."""
    own = (
        ("data", arguments.name, "name of a text data set"),
        ("tokens", arguments.choice(TOKENS), "characters, words (between spaces) or bpe"),
        ("vocab", size, "size of a bpe vocabulary"),
        ("context", size, "context length, in tokens"),
        ("d-model", size, "width of the hidden states"),
        ("heads", size, "attention heads"),
        ("layers", arguments.layers, "blocks"),
        ("dropout", probability, "dropout probability; helps only after several epochs"),
        ("form", arguments.choice(recipes.FORMS["gpt"]), "gpt-2, or modern (rotary positions, QK-norm, …)"),
        ("schedule", train_settings.schedule, "learning-rate schedule: linear, cosine, noam or constant"),
        ("weight-decay", number(0.0, 1000.0), "weight decay, for matrices only"),
        ("evaluate-every", not_negative, "steps between evaluations; the best weights are kept; 0: none"),
    )
    train_settings.add_arguments(kind, "gpt", own)


def run(args) -> int:
    """Train, measure on the held-out texts, save; what was asked for and what came out is printed."""
    from course_lib.tasks.language_modeling import save_language_model
    from course_lib.training import run_record
    from course_lib.training.trainer import train

    data, tokens, ids, objective, batches, config = recipes.prepare_gpt(args)
    out = train_settings.begin(args, settings(args, data, tokens, objective, config))
    if out is None:
        return 0
    size = sum(p.numel() for p in objective.parameters())
    print(f"{data.name}: {len(ids['train']):,} tokens to train on, {len(ids['validation']):,} for validation")
    print(f"{size:,} parameters, {len(tokens):,} tokens in the vocabulary; checkpoints in {out}")
    keep = keep_best(objective.model, ids["validation"], out) if args.evaluate_every else None
    more = {"evaluate": keep, "unigram": unigram(ids["train"], tokens), "device": args.device}
    history = train(objective, batches, config, folder=out / "checkpoints", keep=args.keep, **more)
    if not train_settings.is_main():
        return 0
    result = train_settings.told(report(history, keep, data, objective.model, tokens, ids))
    save_language_model(out / "model", objective.model, tokens)
    run_record.finish(out, result)
    print(f"The model is in {out / 'model'}.")
    return 0


def settings(args, data, tokens, objective, config):
    """All that determines the result."""
    from course_lib.training.run_record import checksum, settings_of

    about = {"data": args.data, "texts": checksum([data.train, data.validation, data.test])}
    about |= {"tokens": args.tokens, "tokenizer": tokens.fingerprint[:16], "batch": args.batch}
    return settings_of(objective, config, **about)


def unigram(ids, tokens):
    """The loss of a model that knows only how often each token occurs."""
    from course_lib.text.unigram import unigram_loss

    return unigram_loss(ids, len(tokens))


def keep_best(model, ids, out):
    """Early stopping, by the loss on the beginning of the validation text."""
    from course_lib.tasks.language_modeling import mean_loss
    from course_lib.training.early_stopping import KeepBest

    folder = out / "checkpoints" / "best" if train_settings.is_main() else None
    return KeepBest(model, lambda: mean_loss(model, ids[:WATCHED]), folder)


def report(history, keep, data, model, tokens, ids):
    """Loss, perplexity and bits per character of the held-out texts, every token counted once; a sample."""
    from course_lib.tasks.language_modeling import bits_per_character, continue_text, mean_loss, perplexity

    yield train_settings.summary(history, "tokens")
    if keep:
        yield f"kept: the weights with a loss of {keep.restore():.4f} on a part of the validation text"
    context = model.config.max_tokens
    for part in ("validation", "test"):
        text = getattr(data, part)
        for way, stride in (
            (f"non-overlapping windows of {context}", context),
            ("windows that overlap by half", context // 2),
        ):
            if text:
                loss = mean_loss(model, ids[part], stride=max(1, stride))
                bits = bits_per_character(loss, len(ids[part]), len(text))
                yield (
                    f"{part}, {way}: loss {loss:.4f}, perplexity {perplexity(loss):,.2f}, "
                    f"{bits:.3f} bits per character on {len(ids[part]):,} tokens"
                )
    prompt = tokens.decode(ids["validation"][:8].tolist())
    yield f"After {prompt!r}:\n{continue_text(model, tokens, prompt, SAMPLE, top_p=0.95)}"
