"""Translation quality of the presets: BLEU and chrF on held-out sentences, stored.

`python -m course_lib train translation --preset multi30k --seed 0` repeats a run and prints its scores; each
run names its command. "minutes" are processor time on a CPU, summed over threads: other programs do not
count. "means" has mean and standard deviation over the seeds of equal runs. A run also counts the errors of
beam search by kind, by the rarest word of the reference and by the words in the source ("mistakes").
"""

from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "translation_quality.json"
