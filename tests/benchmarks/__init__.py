"""What the course's pieces cost, measured beside `nn.Transformer` and d2l in one process, in alternation.

timing.py      alternating rounds, medians, quartiles, ratios
machine.py     what it was measured on
report.py      the table and the JSON file
workload.py    seeded batches with the sentence lengths of a real set
rivals.py      the same Transformer on PyTorch's own layers
d2l_rival.py   the same Transformer from d2l's pieces
nanogpt.py    nanoGPT's setting for a CPU, on plain PyTorch
training.py, decoding.py, language.py, layer.py, tools.py: the measurements
lecture_systems.py, systems.py: the lectures' systems beside ours, all of one size
rows.py        the rows of the table by name
redraws.py     the widgets, which have a file of their own
digits_vit.py  no measurement: makes the small image classifier that ships with the widgets

Started by `python -m course_lib bench`.
"""
