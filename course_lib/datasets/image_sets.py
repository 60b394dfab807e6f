"""The names of the classes of CIFAR-10."""

from course_lib.datasets.catalog import find_set

CIFAR10 = find_set("cifar10").classes
