"""Keys of the chapters, with which the names of notebooks and exercises begin."""

CHAPTER = r"(?:\d\d[a-z]?|A\d)"  # a regular expression: 03, 03b for going deeper, A1 for an appendix
