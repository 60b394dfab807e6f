"""How good the translators of the presets are, on held-out sentences.

    cd tests && python -m benchmarks.translation_quality multi30k --seed 0 --threads 1

trains as `train translation --preset multi30k --seed 0` does, and puts the scores and the minutes into
course_lib/translation_quality.json, in the place of an earlier run of the same kind. On a CPU these are the
minutes of the processor, summed over its threads, so that other programs on the machine do not count.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from course_lib import mistakes
from course_lib.commands import train, train_settings, train_translation
from course_lib.files import PACKAGE, atomic_path

RESULTS = PACKAGE / "translation_quality.json"
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


def run(preset: str, seed: int, more: list[str]) -> dict:
    """Train one preset and score it, greedily and with a beam."""
    from course_lib.training import train as train_model

    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    args = parser.parse_args(["translation", "--preset", preset, "--seed", str(seed), *more])
    train_settings.settle(args)
    data, tokens, objective, batches, config = train_translation.prepare(args)
    begun = time.process_time()
    history = train_model(objective, batches, config, device=args.device)
    on_cpu = next(objective.parameters()).device.type == "cpu"  # then its threads' time, whoever else runs
    seconds = time.process_time() - begun if on_cpu else history.seconds
    sizes = objective.model.config
    found = {"d_model": sizes.d_model, "d_ff": sizes.d_ff, "heads": sizes.heads}
    settings = {key: getattr(args, key, None) for key in (*SETTINGS, "average")} | found
    return {
        "preset": preset,
        "data": data.name,
        "direction": f"{data.source}-{data.target}",
        "max_words": data.max_words,
        "seed": seed,
        "steps": history.steps,
        "batch": batches.batch,
        "pairs": len(batches.ids),
        "epochs": round(history.steps / len(batches.epoch(0)), 1),
        "minutes": round(seconds / 60, 1),
        "clock": "cpu" if on_cpu else "wall",
        "parameters": sum(p.numel() for p in objective.parameters()),
        "target_tokens_per_second": round(history.tokens / seconds),
        "test_sentences": len(data.test),
        **scores(objective.model, tokens, data),
        "settings": settings,
        "command": " ".join([COMMAND, "--preset", preset, "--seed", str(seed), *more]),
    }


def scores(model, tokens, data) -> dict:
    """BLEU and chrF of greedy and of beam decoding, and the kinds of mistakes of the latter."""
    from course_lib.bleu import held_out_scores
    from course_lib.translation import translate

    sources, references = map(list, zip(*data.test, strict=True))
    found = {}
    for way, width in (("greedy", 1), ("beam", BEAM)):
        written = translate(model, tokens, sources, width=width)
        score = held_out_scores(written, references)
        found[way] = {"width": width, "bleu": round(score.bleu, 2), "chrf": round(score.chrf, 2)}
    return found | {"signature": score.signature, "mistakes": mistakes_in(written, data)}


def mistakes_in(written: list[str], data) -> dict:
    """How many translations differ from their reference: by kind, by rarest word, by length of the source."""
    sources, references = map(list, zip(*data.test, strict=True))
    times_seen = Counter(word for _, target in data.train for word in mistakes.plain_words(target))
    kinds = mistakes.sort_mistakes(written, references, times_seen)
    wrong = {i for numbers in kinds.values() for i in numbers}
    rarest = [mistakes.rarest_word(text, times_seen) for text in references]
    lengths = [len(text.split()) for text in sources]
    return {
        "sentences": len(written),
        "wrong": len(wrong),
        "kinds": {kind: len(numbers) for kind, numbers in kinds.items()},
        "rarest word": by_group(rarest, wrong, SEEN),
        "words in the source": by_group(lengths, wrong, LENGTHS),
    }


def by_group(values, wrong, groups) -> list[list[int]]:
    """For each group: least, most, how many are wrong, how many there are."""
    counted = mistakes.wrong_by_group(values, wrong, groups)
    return [[*group, *both] for group, both in zip(groups, counted, strict=True)]


def merged(results: dict, entry: dict) -> dict:
    """The results with one more run, in the place of an earlier one with the same preset, seed and steps."""
    key = ("preset", "seed", "steps")
    others = [run for run in results.get("runs", []) if any(run[k] != entry[k] for k in key)]
    runs = sorted([*others, entry], key=lambda run: tuple(run[k] for k in key))
    return {"about": " ".join(__doc__.split("\n")[0].split()), "runs": runs, "means": means(runs)}


def means(runs: list[dict]) -> list[dict]:
    """Mean and standard deviation over the seeds, where a preset was run with several and as many steps."""
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
    """Put one run into the file of results."""
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    with atomic_path(path) as room:
        text = json.dumps(merged(results, entry), indent=1, ensure_ascii=False)
        room.write_text(text + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    import torch

    from benchmarks import machine

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    args, more = parser.parse_known_args(arguments)
    if args.threads:
        torch.set_num_threads(args.threads)
    entry = run(args.preset, args.seed, more)
    entry["machine"] = machine.describe("cuda" if torch.cuda.is_available() else "cpu")
    store(entry)
    print(json.dumps(entry, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
