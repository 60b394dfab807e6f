"""A folder for each chapter and its lettered sisters: exercises, figures, widgets, experiments, results."""
