"""`export RUN`: writes a trained model for the packages transformers or timm."""

from course_lib.cli import arguments, trained

HELP = "writes a trained model for the packages transformers or timm"
SPECIAL = {"pad_token": "[PAD]", "bos_token": "[BOS]", "eos_token": "[EOS]", "unk_token": "[UNK]"}
HINTS = {"gpt": "; train with --form gpt-2 to export", "classification": "; train with --form bert to export"}


def add_arguments(parser):
    """The run, the format, and the folder."""
    trained.add_run(parser)
    parser.add_argument("--to", type=arguments.choice(("huggingface", "timm")), default="huggingface")
    about = "folder to write (RUN/huggingface or RUN/timm)"
    parser.add_argument("--out", type=arguments.output_folder, help=about)


def run(args) -> int:
    """Write model and tokenizer. Raises ValueError for a model that the package has no class for."""
    from course_lib.pretrained.vit import save_for_timm
    from course_lib.utils.files import atomic_path

    args.device = args.device or "cpu"
    found = trained.load(args)
    if found.task not in (("vision",) if args.to == "timm" else ("gpt", "vision", "classification")):
        package = "timm" if args.to == "timm" else "transformers"
        raise ValueError(f"models of `train {found.task}` have no counterpart in {package}")
    out = args.out or found.folder / args.to
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"{out} is not empty: choose another --out")
    try:
        with atomic_path(out) as room:
            room.mkdir()
            if args.to == "timm":
                save_for_timm(found.model, room, found.classes)
            else:
                write_for_transformers(found, room)
    except ValueError as error:
        raise ValueError(f"{found.folder}: {error}{HINTS.get(found.task, '')}") from None
    print(f"The model is in {out}.")
    return 0


def write_for_transformers(found, folder) -> None:
    """Write model and tokenizer for transformers."""
    from course_lib.pretrained import bert, gpt2, vit

    if found.task == "classification":
        if found.model.pooling != "class token":
            raise ValueError(f"pooling={found.model.pooling!r}, but BERT has pooling='class token'")
        theirs = bert.classifier_to_hugging_face(found.model.encoder, found.model.head)
    else:
        theirs = (gpt2 if found.task == "gpt" else vit).to_hugging_face(found.model)
    if found.classes:
        theirs.config.id2label = dict(enumerate(found.classes))
        theirs.config.label2id = {name: i for i, name in enumerate(found.classes)}
    if found.tokenizer is not None:
        save_tokenizer(found, folder)
    theirs.save_pretrained(folder)


def save_tokenizer(found, folder) -> None:
    """Write the tokenizer. Of a classifier, it also cleans texts, and puts the class token before them.

    Raises ValueError for one of characters or words.
    """
    import tokenizers as hf
    from transformers import PreTrainedTokenizerFast

    from course_lib.text.preparation import INVISIBLE
    from course_lib.text.tokenizers import CLS, SPECIAL_TOKENS

    if not hasattr(found.tokenizer, "tokenizer"):
        raise ValueError(f"tokenizers of {found.tokenizer.kind} cannot be exported; those of bytes can")
    theirs = hf.Tokenizer.from_str(found.tokenizer.tokenizer.to_str())
    more = {"model_max_length": found.model.config.max_tokens} if found.task == "gpt" else {}
    if found.task == "classification":
        visible = hf.normalizers.Replace(hf.Regex(INVISIBLE.pattern), "")
        theirs.normalizer = hf.normalizers.Sequence([visible, theirs.normalizer])
        name = SPECIAL_TOKENS[CLS]
        theirs.post_processor = hf.processors.TemplateProcessing(f"{name} $A", special_tokens=[(name, CLS)])
        more = {"cls_token": name, "model_max_length": found.model.encoder.config.max_tokens}
    whole = PreTrainedTokenizerFast(tokenizer_object=theirs, split_special_tokens=True, **SPECIAL, **more)
    whole.save_pretrained(folder)
