"""`export RUN --to huggingface`: writes a trained model for the package transformers."""

from course_lib.cli import arguments, trained

HELP = "writes a trained model for the package transformers"


def add_arguments(parser):
    """The run, the format, and the folder."""
    trained.add_run(parser)
    parser.add_argument("--to", type=arguments.choice(("huggingface",)), default="huggingface")
    about = "folder to write (RUN/huggingface)"
    parser.add_argument("--out", type=arguments.output_folder, help=about)


def run(args) -> int:
    """Write model and tokenizer. Raises ValueError for a model that transformers has no class for."""
    from course_lib.pretrained import gpt2, vit
    from course_lib.utils.files import atomic_path

    args.device = args.device or "cpu"
    found = trained.load(args)
    if found.task not in ("gpt", "vision"):
        raise ValueError(f"models of `train {found.task}` have no counterpart in transformers")
    try:
        theirs = (gpt2 if found.task == "gpt" else vit).to_hugging_face(found.model)
    except ValueError as error:
        hint = "; train with --form gpt-2 to export" if found.task == "gpt" else ""
        raise ValueError(f"{found.folder}: {error}{hint}") from None
    out = args.out or found.folder / "huggingface"
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty: choose another --out")
    if found.classes:
        theirs.config.id2label = dict(enumerate(found.classes))
        theirs.config.label2id = {name: i for i, name in enumerate(found.classes)}
    with atomic_path(out) as room:
        theirs.save_pretrained(room)
        if found.tokenizer is not None:
            save_tokenizer(found.tokenizer, room)
    print(f"The model is in {out}.")
    return 0


def save_tokenizer(tokenizer, folder) -> None:
    """Write the tokenizer for transformers. Raises ValueError for one of characters or words."""
    from transformers import PreTrainedTokenizerFast

    if not hasattr(tokenizer, "tokenizer"):
        raise ValueError(f"tokenizers of {tokenizer.kind} cannot be exported: train with --tokens bytes")
    special = {"pad_token": "[PAD]", "bos_token": "[BOS]", "eos_token": "[EOS]", "unk_token": "[UNK]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer.tokenizer, **special).save_pretrained(folder)
