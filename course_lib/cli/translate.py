"""`translate RUN [FILE]`: translates lines with a translator that was trained."""

from course_lib.cli import arguments, trained

HELP = "translates the lines of a file, or of the standard input as they come"


def add_arguments(parser):
    """The run, the file, and how to search."""
    trained.add_run(parser)
    parser.add_argument("file", nargs="?", type=arguments.file, help="a text, a sentence per line")
    parser.add_argument(
        "--width", type=arguments.integer(1, 100), default=4, help="of the beam; 1: greedy (4)"
    )


def run(args) -> int:
    """Print a translation for each line; a blank line stays one."""
    from course_lib.datasets.text_files import lines_of
    from course_lib.tasks.translation import translate

    found = trained.load(args, "translation")
    lines = lines_of(args.file) if args.file else trained.standard_input()
    for number, line in enumerate(lines, start=1):
        try:
            texts = [line] if line.strip() else []
            [*translated] = translate(found.model, found.tokenizer, texts, width=args.width)
        except ValueError as error:
            raise ValueError(f"{args.file or 'standard input'}, line {number}: {error}") from None
        print(*translated, flush=True)
    return 0
