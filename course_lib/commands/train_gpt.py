"""`train gpt`: a language model, trained on a text, measured on held-out text, and saved."""

from course_lib.commands import train_settings

HELP = "a language model that continues texts"
SAMPLE = 400  # tokens that are written at the end
WATCHED = 20_000  # tokens of the validation text, for early stopping


def add_arguments(kind):
    """Text, vocabulary, sizes, and how to train; what is not given comes from a preset."""
    base = train_settings.presets("gpt")["grammar"]
    own = (
        ("data", str, "name of a text"),
        ("tokens", str, "characters, words (between blanks) or bpe"),
        ("vocab", int, "tokens of a bpe vocabulary"),
        ("context", int, "tokens that the model reads at once"),
        ("d-model", int, "width of the vectors"),
        ("heads", int, "attention heads"),
        ("layers", int, "blocks"),
        ("dropout", float, "probability; pays after several epochs"),
        ("form", str, "gpt-2, or modern: with what has changed since"),
        ("schedule", str, "of the learning rate: linear, cosine, noam or constant"),
        ("weight-decay", float, "of matrices"),
        ("evaluate-every", int, "steps between two looks at the validation text; the best weights stay"),
    )
    train_settings.add_arguments(kind, "gpt", base, own)


def run(args) -> int:
    """Train, measure on the held-out texts, save; what was asked for and what came out is printed."""
    from course_lib.language_model import save_language_model
    from course_lib.training import train

    out = train_settings.folder(args)
    data, tokens, ids, objective, batches, config = prepare(args)
    size = sum(p.numel() for p in objective.parameters())
    print(f"{data.name}: {len(ids['train']):,} tokens to train on, {len(ids['validation']):,} for validation")
    print(f"{size:,} parameters, {len(tokens):,} tokens in the vocabulary; checkpoints in {out}")
    keep = keep_best(objective.model, ids["validation"], out) if args.evaluate_every else None
    places = {"folder": out / "checkpoints", "device": args.device}
    history = train(objective, batches, config, evaluate=keep, **places)
    if not train_settings.is_main():
        return 0
    print(train_settings.summary(history, "tokens"))
    if keep:
        print(f"kept: the weights with a loss of {keep.restore():.4f} on a part of the validation text")
    report(data, objective.model, tokens, ids)
    save_language_model(out / "model", objective.model, tokens)
    print(f"The model is in {out / 'model'}.")
    return 0


def prepare(args):
    """Texts and their ids, vocabulary, model with its loss, batches and settings, as the arguments say."""
    from dataclasses import replace

    import torch

    from course_lib.datasets import load_text
    from course_lib.gpt import GPT, GPTConfig
    from course_lib.gpt2 import SINCE_GPT2
    from course_lib.language_model import LanguageModelObjective, TextBatches

    forms = {"gpt-2": {}, "modern": SINCE_GPT2}
    if args.form not in forms:
        raise ValueError(f"form={args.form!r} is neither gpt-2 nor modern")
    data = load_text(args.data)
    tokens = vocabulary(args, data.train)
    ids = {part: torch.tensor(tokens.encode(getattr(data, part))) for part in ("train", "validation", "test")}
    sizes = {"d_model": args.d_model, "heads": args.heads, "layers": args.layers, "dropout": args.dropout}
    torch.manual_seed(args.seed)
    model = GPT(GPTConfig(vocab=len(tokens), max_tokens=args.context, **sizes, **forms[args.form]))
    batches = TextBatches(ids["train"], args.context, args.batch, args.seed)
    same = ("schedule", "weight_decay", "evaluate_every")
    settings = {name: getattr(args, name) for name in same}
    config = replace(train_settings.train_config(args), **settings)
    return data, tokens, ids, LanguageModelObjective(model), batches, config


def vocabulary(args, text):
    """The tokens of the training text, of the kind that was asked for."""
    from course_lib.characters import Characters, Words
    from course_lib.tokens import Tokens

    if args.tokens == "bpe":
        return Tokens.train(text.splitlines(), args.vocab)
    kinds = {"characters": Characters, "words": Words}
    if args.tokens not in kinds:
        raise ValueError(f"tokens={args.tokens!r} is none of bpe, {', '.join(kinds)}")
    return kinds[args.tokens].train([text])


def keep_best(model, ids, out):
    """Early stopping, by the loss on the beginning of the validation text."""
    from course_lib.early_stopping import KeepBest
    from course_lib.language_model import mean_loss

    file = out / "checkpoints" / "best.safetensors" if train_settings.is_main() else None
    return KeepBest(model, lambda: mean_loss(model, ids[:WATCHED]), file)


def report(data, model, tokens, ids) -> None:
    """Loss, perplexity and bits per character of the held-out texts, every token counted once; a sample."""
    from course_lib.language_model import bits_per_character, continue_text, mean_loss, perplexity

    context = model.config.max_tokens
    for part in ("validation", "test"):
        text = getattr(data, part)
        for way, stride in (
            (f"windows of {context} side by side", context),
            ("overlapping by half", context // 2),
        ):
            if text:
                loss = mean_loss(model, ids[part], stride=max(1, stride))
                bits = bits_per_character(loss, len(ids[part]), len(text))
                print(
                    f"{part}, {way}: loss {loss:.4f}, perplexity {perplexity(loss):,.2f}, "
                    f"{bits:.3f} bits per character on {len(ids[part]):,} tokens"
                )
    prompt = tokens.decode(ids["validation"][:8].tolist())
    print(f"After {prompt!r}:\n{continue_text(model, tokens, prompt, SAMPLE, top_p=0.95)}")
