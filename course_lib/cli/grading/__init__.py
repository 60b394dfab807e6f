"""Grading of handed-in notebooks: each runs in separate processes, and its answers are judged here."""
