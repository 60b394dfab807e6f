"""The verbs of `python -m course_lib`: one module each, with HELP, add_arguments(parser) and run(args)."""
