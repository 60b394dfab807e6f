"""The small GPT that ships with the course: byte-level BPE, trained on sentences of Wikipedia (WikiText-2).

    python -m course_lib.experiments real_gpt text FILE.txt
    python -m course_lib train gpt --preset wikitext-2-stored --data FILE.txt --out FOLDER
    python -m course_lib.experiments real_gpt store FOLDER

writes the text as people write it, trains the model, and stores it in bf16 in models/wikipedia, with its
scores; `real_gpt()` loads it.
"""

import re

END = re.compile(r"(?<= [.!?]) (?=[A-Z\"])")
JOINED = (  # WikiText writes every mark as a word of its own
    (re.compile(r" @(.)@ "), r"\1"),
    (re.compile(r" ([.,;:!?%)\]]|'s|'t|'re|'ve|'ll|'d|'m)(?= |$)"), r"\1"),
    (re.compile(r"([(\[$£]) "), r"\1"),
    (re.compile(r'" ([^"]*?) "'), r'"\1"'),
    (re.compile(r" n't\b"), "n't"),
)


def as_written(text: str) -> str:
    """WikiText as people write it: spacing of prose, no headings, and no sentence with an unknown word.

    >>> as_written(" = Title = \\n He ( Ann 's son ) has a well @-@ known hat . The <unk> left . \\n")
    "He (Ann's son) has a well-known hat.\\n"
    """
    lines = []
    for paragraph in text.splitlines():
        if paragraph.strip().startswith("="):
            continue
        kept = " ".join(one for one in END.split(paragraph.strip()) if one and "<unk>" not in one)
        for pattern, to in JOINED:
            kept = pattern.sub(to, kept)
        lines += [kept] * bool(kept)
    return "".join(f"{line}\n" for line in lines)
