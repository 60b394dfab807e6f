"""Benchmarks: speed compared with other libraries, in alternating rounds within one process."""
