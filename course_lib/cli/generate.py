"""`generate RUN "prompt"`: continues a prompt with a language model that was trained."""

from course_lib.cli import arguments, trained

HELP = "continues a prompt with a language model"


def add_arguments(parser):
    """The run, the prompt, and how to sample."""
    trained.add_run(parser)
    parser.add_argument("prompt", help="the beginning of the text")
    parser.add_argument("--length", type=arguments.size, default=200, help="tokens to write (200)")
    temperature = arguments.number(0.0, 100.0)
    parser.add_argument("--temperature", type=temperature, default=0.8, help="0: greedy (0.8)")
    parser.add_argument("--top-p", type=arguments.positive(1.0), default=0.95, help="nucleus sampling (0.95)")
    parser.add_argument("--seed", type=arguments.seed, default=0, help="random seed (0)")


def run(args) -> int:
    """Print the prompt and its continuation."""
    from course_lib.tasks.language_modeling import continue_text

    model = trained.load(args, "gpt")
    sampling = {"temperature": args.temperature, "top_p": args.top_p, "seed": args.seed}
    print(continue_text(model.model, model.tokenizer, args.prompt, args.length, **sampling))
    return 0
