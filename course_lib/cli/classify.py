"""`classify RUN IMAGE…` or `classify RUN TEXT…`: names the class of each with a trained classifier."""

from course_lib.cli import trained

HELP = "names the class of images or texts, and its probability"
BATCH = 64


def add_arguments(parser):
    """The run, and what to classify."""
    trained.add_run(parser)
    about = "paths of images, or texts; without any, texts are read from the standard input, one per line"
    parser.add_argument("inputs", nargs="*", metavar="IMAGE|TEXT", help=about)


def run(args) -> int:
    """Print the class of each input, its probability and the input, with tabs between them."""
    from course_lib.tasks.runs import classify

    found = trained.load(args, "vision", "classification")
    inputs = args.inputs or [line for line in trained.standard_input() if line.strip()]
    for i in range(0, max(1, len(inputs)), BATCH):
        some = inputs[i : i + BATCH]
        for (name, probability), one in zip(classify(found, some), some, strict=True):
            print(f"{name}\t{probability:.4f}\t{one}")
    return 0
