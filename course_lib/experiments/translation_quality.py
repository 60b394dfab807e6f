"""Translation quality of the presets: BLEU and chrF on held-out sentences.

    python -m course_lib.experiments.translation_quality multi30k --seed 0 --threads 1 [--set steps=100 …]

trains what `python -m course_lib train translation --preset multi30k --seed 0` trains, and stores scores and
training time in results/translation_quality.json, in place of an earlier run with the same preset, seed and
number of steps. On a CPU the time is processor time, summed over threads; other programs do not count.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from course_lib.experiments.recipes import prepare_translation, recipe
from course_lib.text import error_analysis
from course_lib.utils.files import atomic_path

RESULTS = Path(__file__).parent / "results" / "translation_quality.json"
SETTINGS = (
    "vocab",
    "d_model",
    "layers",
    "d_ff",
    "heads",
    "dropout",
    "label_smoothing",
    "optimizer",
    "lr",
    "warmup",
)
BEAM = 4
SEEN = ((0, 9), (10, 29), (30, 99), (100, 10**6))  # groups of sentences, each from … to …
LENGTHS = ((1, 3), (4, 5), (6, 7), (8, 10), (11, 10**6))
COMMAND = "python -m course_lib train translation"


def run(preset: str, seed: int, overrides: dict) -> dict:
    """Train one preset and score it with greedy decoding and with beam search."""
    from course_lib.training.trainer import train

    wanted = recipe("translation", preset=preset, seed=seed, **overrides)
    data, tokens, objective, batches, config = prepare_translation(wanted)
    begun = time.process_time()
    history = train(objective, batches, config, device=wanted.device)
    on_cpu = next(objective.parameters()).device.type == "cpu"  # then the time of its own threads
    seconds = time.process_time() - begun if on_cpu else history.seconds
    sizes = objective.model.config
    found = {"d_model": sizes.d_model, "d_ff": sizes.d_ff, "heads": sizes.heads}
    settings = {key: getattr(wanted, key) for key in (*SETTINGS, "average")} | found
    return {
        "preset": preset,
        "data": data.name,
        "direction": f"{data.source}-{data.target}",
        "max_words": data.max_words,
        "seed": seed,
        "steps": history.steps,
        "batch": batches.batch_sampler.batch,
        "pairs": len(batches.dataset),
        "epochs": round(history.steps / len(batches), 1),
        "minutes": round(seconds / 60, 1),
        "clock": "cpu" if on_cpu else "wall",
        "parameters": sum(p.numel() for p in objective.parameters()),
        "target_tokens_per_second": round(history.tokens / seconds),
        "test_sentences": len(data.test),
        **scores(objective.model, tokens, data),
        "settings": settings,
        "command": command(preset, seed, overrides),
    }


def command(preset: str, seed: int, overrides: dict) -> str:
    """The command that trains the same model."""
    flags = [f"--{key.replace('_', '-')} {value}" for key, value in overrides.items()]
    return " ".join([COMMAND, "--preset", preset, "--seed", str(seed), *flags])


def scores(model, tokens, data) -> dict:
    """BLEU and chrF of greedy decoding and beam search, and the errors of the latter by kind."""
    from course_lib.tasks.translation import translate
    from course_lib.text.bleu import held_out_scores

    sources, references = map(list, zip(*data.test, strict=True))
    found = {}
    for way, width in (("greedy", 1), ("beam", BEAM)):
        written = translate(model, tokens, sources, width=width)
        score = held_out_scores(written, references)
        found[way] = {"width": width, "bleu": round(score.bleu, 2), "chrf": round(score.chrf, 2)}
    return found | {"signature": score.signature, "mistakes": mistakes_in(written, data)}


def mistakes_in(written: list[str], data) -> dict:
    """Counts of translations that differ from the reference, by kind of error, rarest word, source length."""
    sources, references = map(list, zip(*data.test, strict=True))
    times_seen = Counter(word for _, target in data.train for word in error_analysis.plain_words(target))
    kinds = error_analysis.sort_errors(written, references, times_seen)
    wrong = {i for numbers in kinds.values() for i in numbers}
    rarest = [error_analysis.rarest_word(text, times_seen) for text in references]
    lengths = [len(text.split()) for text in sources]
    return {
        "sentences": len(written),
        "wrong": len(wrong),
        "kinds": {kind: len(numbers) for kind, numbers in kinds.items()},
        "rarest word": by_group(rarest, wrong, SEEN),
        "words in the source": by_group(lengths, wrong, LENGTHS),
    }


def by_group(values, wrong, groups) -> list[list[int]]:
    """For each group: smallest and largest value, number of errors, size."""
    counted = error_analysis.wrong_by_group(values, wrong, groups)
    return [[*group, *both] for group, both in zip(groups, counted, strict=True)]


def merged(results: dict, entry: dict) -> dict:
    """The results with one more run, which replaces one with the same preset, seed and steps."""
    key = ("preset", "seed", "steps")
    others = [run for run in results.get("runs", []) if any(run[k] != entry[k] for k in key)]
    runs = sorted([*others, entry], key=lambda run: tuple(run[k] for k in key))
    return {"about": " ".join(__doc__.split("\n")[0].split()), "runs": runs, "means": means(runs)}


def means(runs: list[dict]) -> list[dict]:
    """Mean and standard deviation over seeds, for presets with several runs of equal length."""
    groups: dict[tuple, list[dict]] = {}
    for one in runs:
        groups.setdefault((one["preset"], one["steps"]), []).append(one)
    found = []
    for (preset, steps), group in groups.items():
        if len(group) < 2:
            continue
        row = {"preset": preset, "steps": steps, "seeds": [one["seed"] for one in group]}
        for way in ("greedy", "beam"):
            figures = {what: [one[way][what] for one in group] for what in ("bleu", "chrf")}
            row[way] = {
                what: [round(statistics.mean(x), 2), round(statistics.stdev(x), 2)]
                for what, x in figures.items()
            }
        found.append(row)
    return found


def store(entry: dict, path: Path = RESULTS) -> None:
    """Add one run to the file of results."""
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    with atomic_path(path) as room:
        text = json.dumps(merged(results, entry), indent=1, ensure_ascii=False)
        room.write_text(text + "\n", encoding="utf-8")


def setting(text: str) -> tuple[str, int | float | str]:
    """A setting of the command line: "steps=100" → ("steps", 100)."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def main(arguments: list[str]) -> None:
    import torch

    from course_lib.utils import machine
    from course_lib.utils.device import best_device

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--set", nargs="*", type=setting, default=[], metavar="NAME=VALUE")
    args = parser.parse_args(arguments)
    if args.threads:
        torch.set_num_threads(args.threads)
    entry = run(args.preset, args.seed, dict(args.set))
    entry["machine"] = machine.describe(str(best_device()))
    store(entry)
    print(json.dumps(entry, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
