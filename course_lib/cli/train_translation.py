"""`train translation`: a translator, trained on sentence pairs, measured on held-out ones, and saved."""

from course_lib.cli import arguments, train_settings
from course_lib.cli.arguments import choice, not_negative, number, probability, size
from course_lib.experiments import recipes

BEAM = 4
HELP = "trains a translator from one language to another"


def add_arguments(kind):
    """Data, sizes, and how to train; what is not given comes from a preset."""
    own = (
        ("data", arguments.name, "name of a data set"),
        ("max-words", not_negative, "maximum sentence length, in words; 0: no limit"),
        ("vocab", size, "size of the vocabulary that both languages share"),
        ("d-model", size, "width of the hidden states"),
        ("layers", arguments.layers, "blocks in the encoder, and in the decoder"),
        ("form", choice(recipes.FORMS["translation"]), "original, or modern (rotary positions, QK-norm, …)"),
        ("dropout", probability, "dropout probability; helps only after several epochs"),
        ("label-smoothing", probability, "fraction of the target probability spread over all tokens"),
        ("weight-decay", number(0.0, 1000.0), "weight decay, for matrices only"),
    )
    tested = {"type": train_settings.number_or_all, "metavar": "STEP|all"}
    about = "do not train: score this checkpoint, or all, on the validation sentences"
    kind.add_argument("--evaluate", **tested, help=about)
    kind.add_argument("--decoder-layers", type=arguments.layers, help="blocks in the decoder (as --layers)")
    kind.add_argument("--heads", type=size, help="attention heads (one for each 64 of d_model)")
    kind.add_argument("--d-ff", type=size, help="width of the feed-forward layers (four times d_model)")
    train_settings.add_arguments(kind, "translation", own)


def run(args) -> int:
    """Train, measure on the held-out sentences, save; what was asked for and what came out is printed."""
    from course_lib.tasks.translation import save_translator
    from course_lib.training import run_record
    from course_lib.training.trainer import train

    data, tokens, objective, batches, config = recipes.prepare_translation(args)
    about = settings(args, data, tokens, objective, config)
    if args.evaluate is not None:
        return evaluate(args, about, data, objective.model, tokens)
    out = train_settings.begin(args, about)
    if out is None:
        return 0
    size = sum(p.numel() for p in objective.parameters())
    print(f"{data.name}: {len(data.train):,} pairs to train on, {len(data.test):,} held out for testing")
    print(f"{size:,} parameters, {len(tokens):,} tokens in the vocabulary; checkpoints in {out}")
    places = {"folder": out / "checkpoints", "keep": args.keep, "device": args.device}
    history = train(objective, batches, config, unigram=unigram(objective, batches), **places)
    if not train_settings.is_main():
        return 0
    result = train_settings.told(report(history, data, objective.model, tokens))
    save_translator(out / "model", objective.model, tokens)
    run_record.finish(out, result)
    print(f"The model is in {out / 'model'}.")
    return 0


def settings(args, data, tokens, objective, config):
    """All that determines the result."""
    from course_lib.training.run_record import checksum, settings_of

    about = {"data": args.data, "max_words": args.max_words}
    about["pairs"] = checksum([data.train, data.test])
    return settings_of(objective, config, **about, batch=args.batch, tokenizer=tokens.fingerprint[:16])


def evaluate(args, about, data, model, tokens) -> int:
    """Score checkpoints of a run with these settings; several also become a table and a picture."""
    from course_lib.training import run_record
    from course_lib.training.checkpoints import Checkpoints
    from course_lib.utils.device import best_device
    from course_lib.utils.progress_bar import tracked

    out = train_settings.folder(args)
    checkpoints = Checkpoints(out / "checkpoints")
    steps = checkpoints.steps()
    if not steps or (args.evaluate != train_settings.ALL and args.evaluate not in steps):
        wanted = "" if args.evaluate == train_settings.ALL else f" of step {args.evaluate}"
        raise ValueError(f"there is no checkpoint{wanted} in {out}; steps with a checkpoint: {steps}")
    run_record.check_same(out, run_record.read(out)["settings"], about)
    chosen = steps if args.evaluate == train_settings.ALL else [args.evaluate]
    model.to(args.device or best_device())
    scoring = tracked(chosen, "scoring", "checkpoint")
    rows = [scored(step, checkpoints, model, data, tokens) for step in scoring]
    if len(rows) > 1:
        write_scores(out, rows)
    return 0


def scored(step, checkpoints, model, data, tokens) -> dict[str, float | int]:
    """Loss without label smoothing, BLEU and chrF (greedy) of one checkpoint on the validation sentences."""
    from course_lib.tasks.translation import mean_loss, translate
    from course_lib.text.bleu import held_out_scores

    checkpoints.load(step, model)
    sources, references = zip(*data.validation, strict=True)
    scores = held_out_scores(translate(model, tokens, sources, precision="auto"), list(references))
    loss = mean_loss(model, tokens, data.validation)
    train_settings.told([f"step {step:,}: loss {loss:.3f}, BLEU {scores.bleu:.1f}, chrF {scores.chrf:.1f}"])
    return {"step": step, "loss": loss, "bleu": scores.bleu, "chrf": scores.chrf}


def write_scores(out, rows) -> None:
    """Write the scores of several checkpoints as CSV, and as a picture of the scores against the steps."""
    import csv

    from course_lib.utils.files import atomic_path
    from course_lib.viz.figures import png
    from course_lib.viz.score_figures import checkpoints_figure

    with atomic_path(out / "scores.csv") as room, room.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    by_metric = {"BLEU": [row["bleu"] for row in rows], "chrF": [row["chrf"] for row in rows]}
    figure = checkpoints_figure([row["step"] for row in rows], [row["loss"] for row in rows], by_metric)
    with atomic_path(out / "scores.png") as room:
        room.write_bytes(png(figure, 192))
    print(f"The table is in {out / 'scores.csv'}, a plot in {out / 'scores.png'}.")


def unigram(objective, batches):
    """The loss of a model that knows only how often each target token occurs."""
    from course_lib.text.unigram import unigram_loss

    ids = [i for _, target in batches.dataset.ids for i in target[1:]]
    return unigram_loss(ids, objective.model.config.vocab, objective.label_smoothing)


def report(history, data, model, tokens, samples: int = 8):
    """Scores on the held-out test sentences, both ways of decoding, and some of the beam's translations."""
    from course_lib.tasks.translation import translate
    from course_lib.text.bleu import held_out_scores

    yield train_settings.summary(history, "target tokens")
    sources, references = zip(*data.test, strict=True)
    for way, width in (("greedy", 1), (f"beam of {BEAM}", BEAM)):
        translations = translate(model, tokens, sources, width=width, precision="auto", progress=True)
        scores = held_out_scores(translations, list(references))
        yield f"held-out, {way}: BLEU {scores.bleu:.1f}, chrF {scores.chrf:.1f} on {len(sources):,} sentences"
    yield f"({scores.signature})"
    for row in range(0, len(sources), max(1, len(sources) // samples))[:samples]:
        yield f"  {sources[row]}\n    → {translations[row]}\n    = {references[row]}"
