"""What the commands that use a trained model share: the argument RUN, and loading it."""

from course_lib.cli import arguments


def add_run(parser) -> None:
    """The folder of the run, and the device."""
    parser.add_argument("trained", metavar="RUN", type=arguments.path, help="a folder that `runs` lists")
    parser.add_argument("--device", type=arguments.device, help="cpu, cuda, … (a GPU where there is one)")


def load(args, *tasks):
    """The run of the command, on its device. Raises ValueError if it is of none of these tasks."""
    from course_lib.tasks.runs import load_run
    from course_lib.utils.device import best_device, require_device

    require_device(args.device, "--device")
    run = load_run(args.trained, args.device or best_device())
    if tasks and run.task not in tasks:
        wanted = " or ".join(f"`train {task}`" for task in tasks)
        raise ValueError(f"{run.folder} is a run of `train {run.task}`; this needs one of {wanted}")
    return run


def standard_input():
    """The lines of the standard input without their ends, as they come. Raises ValueError if not UTF-8."""
    import sys

    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    try:
        for line in sys.stdin:
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"the standard input is not UTF-8: {error}") from None
