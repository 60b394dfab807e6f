"""Int8 weights: absmax quantization, one scale per row."""

import torch
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal


def _int8(largest: Answer, most: int = 127, to_integer: Answer = torch.round) -> Answer:
    def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
        scale = largest(weight) / most
        return to_integer(weight / scale).to(torch.int8), scale

    return quantize


def _of_row(weight: Tensor) -> Tensor:
    return weight.abs().amax(dim=1, keepdim=True)


def _of_matrix(weight: Tensor) -> Tensor:
    return weight.abs().max().expand(len(weight), 1)


def _upside_down(weight: Tensor) -> tuple[Tensor, Tensor]:
    integers, scale = _int8(_of_row)(weight)
    return integers, 1 / scale


def _flat_scale(weight: Tensor) -> tuple[Tensor, Tensor]:
    integers, scale = _int8(_of_row)(weight)
    return integers, scale.squeeze(1)


def _unrounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    scale = _of_row(weight) / 127
    return weight / scale, scale


def _kept_as(dtype: torch.dtype) -> Answer:
    """Rounded, but not converted to int8."""

    def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
        scale = _of_row(weight) / 127
        return (weight / scale).round().to(dtype), scale

    return quantize


def _weights(*rows: float, columns: int, seed: int) -> Tensor:
    """Rows of different sizes, the largest number of each sometimes negative."""
    return normal(len(rows), columns, seed=seed) * torch.tensor(rows).unsqueeze(1)


INT8 = Exercise(
    id="06b.int8",
    reference=lambda weight: _int8(_of_row)(weight),
    inputs=(
        (torch.tensor([[1.0, -2.0, 0.51], [0.1, 0.04, 0.2]]),),
        (_weights(1.0, 10.0, 0.1, columns=4, seed=0),),
        (_weights(0.02, 3.0, 0.5, 1.0, columns=7, seed=1),),
    ),
    mistakes=(
        mistake(
            "your code uses one scale for the whole matrix",
            "A row of small weights then gets only a few of the 255 integers. Take the largest absolute "
            "value of each row: amax(dim=1, keepdim=True).",
            _int8(_of_matrix),
            _int8(lambda weight: weight.abs().max()),
        ),
        mistake(
            "your code uses one scale per column",
            "A row of the matrix makes one output, so a scale per row can be applied to the outputs. "
            "Take the maximum over dim=1.",
            _int8(lambda weight: weight.abs().amax(dim=0, keepdim=True)),
        ),
        mistake(
            "your scale is the largest weight itself",
            "Divided by it, all weights lie from −1 to 1, and only −1, 0 and 1 are left after rounding. The "
            "largest must become 127: divide by 127.",
            _int8(_of_row, most=1),
        ),
        mistake(
            "your code takes the absolute value after the maximum",
            "The largest of −2 and 1 is 1, and its absolute value too. Take abs() first, then the maximum.",
            _int8(lambda weight: weight.amax(dim=1, keepdim=True).abs()),
        ),
        mistake(
            "your code divides the range by 255",
            "With a scale alone, 0 stays 0, so the integers must reach as far up as down. Divide the largest "
            "absolute value by 127.",
            _int8(lambda weight: weight.amax(dim=1, keepdim=True) - weight.amin(dim=1, keepdim=True), 255),
            _int8(_of_row, most=255),
            _int8(_of_row, most=256),
        ),
        mistake(
            "your code divides by 128",
            "int8 goes from −128 to 127, so a largest weight of +128 · scale does not fit and wraps around "
            "to −128. Divide the largest absolute value by 127.",
            _int8(_of_row, most=128),
        ),
        mistake(
            "your code ignores negative weights when it looks for the largest",
            "A weight of −2 needs as much room as one of +2. Take abs() before the maximum.",
            _int8(lambda weight: weight.amax(dim=1, keepdim=True)),
        ),
        mistake(
            "your code cuts off the decimals",
            "Converting to an integer type truncates: 63.9 becomes 63. Call round() first, which halves the "
            "largest error.",
            _int8(_of_row, to_integer=torch.trunc),
            _int8(_of_row, to_integer=torch.floor),
        ),
        mistake(
            "your scale is upside down",
            "The weights come back as integers · scale, so scale is the largest absolute value divided by "
            "127.",
            _upside_down,
            lambda weight: (
                (weight * weight.abs().amax(dim=1, keepdim=True) / 127).round().to(torch.int8),
                127 / weight.abs().amax(dim=1, keepdim=True),
            ),
        ),
        mistake(
            "your scale has the shape (rows,)",
            "integers · scale must multiply row by row. Keep the axis: shape (rows, 1), with keepdim=True.",
            _flat_scale,
        ),
        mistake(
            "your code does not round",
            "Without rounding, nothing has become smaller: these are still floats. Round, then convert "
            "with .to(torch.int8).",
            _unrounded,
        ),
        mistake(
            "your code rounds, but stores the integers in a larger type",
            "A rounded float32 still takes four bytes, and PyTorch's usual integer eight. Convert with "
            ".to(torch.int8), which takes one.",
            _kept_as(torch.float32),
            _kept_as(torch.int64),
            _kept_as(torch.int32),
        ),
        mistake(
            "your scale comes from the mean of the weights",
            "The largest weight of a row must fit into 127. Take the maximum of the absolute values.",
            _int8(lambda weight: weight.abs().mean(dim=1, keepdim=True)),
        ),
    ),
)
