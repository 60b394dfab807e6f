"""The stored list of Colab's packages, and the versions that the twin of Colab pins."""

import csv

from packaging.utils import canonicalize_name

from course_lib.cli import colab_test


def rows() -> list[dict[str, str]]:
    with colab_test.CARRIED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def carried() -> dict[str, str]:
    """The version of each package on Colab; "" where it is there and its version is not recorded."""
    return {row["name"]: row["version"] for row in rows() if row["name"] != "python"}


def twins() -> dict[str, str]:
    lines = colab_test.PINS.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}
