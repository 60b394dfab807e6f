"""`evaluate RUN --data …`: scores a model that was trained on held-out data."""

from course_lib.cli import arguments, trained

HELP = "scores a trained model on held-out data"


def add_arguments(parser):
    """The run, and the data."""
    trained.add_run(parser)
    about = "name of a data set, of which the test part counts, or a path, of which everything counts unless "
    about += "the run was trained on it (the run's own data)"
    parser.add_argument("--data", nargs="+", action=arguments.OneOrMore, type=arguments.name, help=about)


def run(args) -> int:
    """Print the scores."""
    from course_lib.cli.scoring import evaluation
    from course_lib.cli.train import told

    found = trained.load(args)
    data = args.data or found.settings.get("data")
    if data is None:
        raise ValueError(f"{found.folder} does not say what it was trained on: give --data")
    told(evaluation(found, data))
    return 0
