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
    """Print the prompt and its continuation, token by token; Ctrl-C ends it."""
    from course_lib.tasks.language_modeling import prompt_ids, stream_text

    found = trained.load(args, "gpt")
    ids = prompt_ids(found.tokenizer, args.prompt)
    sampling = {"temperature": args.temperature, "top_p": args.top_p, "seed": args.seed}
    print(found.tokenizer.decode(ids), end="", flush=True)
    try:
        for text, _ in stream_text(found.model, found.tokenizer, ids, args.length, **sampling):
            print(text, end="", flush=True)
    finally:
        print()
    return 0
