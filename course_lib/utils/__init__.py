"""Utilities: atomic files, lazy imports, devices, facts about the machine."""
