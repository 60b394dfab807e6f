"""Experiments: a recipe, the code that runs it, and the stored results, one file each."""
