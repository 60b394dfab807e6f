"""Gated feed-forward layer: SwiGLU."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.exercise import Answer, Exercise, mistake, normal


def _gated(activation: Callable[[Tensor], Tensor] = F.silu) -> Answer:
    return lambda x, w_gate, w_in, w_out: activation(x @ w_gate) * (x @ w_in) @ w_out


SWIGLU = Exercise(
    id="05b.swiglu",
    reference=lambda x, w_gate, w_in, w_out: _gated()(x, w_gate, w_in, w_out),
    inputs=(
        (torch.tensor([[1.0, -2.0]]), torch.eye(2), 3 * torch.eye(2), torch.tensor([[1.0, 1.0], [0.0, 1.0]])),
        (normal(2, 3, 4), normal(4, 6, seed=1), normal(4, 6, seed=2), normal(6, 4, seed=3)),
    ),
    mistakes=(
        mistake(
            "your code puts the activation on the wrong projection",
            "silu is applied to the gate, x @ w_gate. The other projection stays linear.",
            lambda x, w_gate, w_in, w_out: _gated()(x, w_in, w_gate, w_out),
        ),
        mistake(
            "your code adds the gate instead of multiplying by it",
            "A gate opens and closes: multiply the two projections, feature by feature.",
            lambda x, w_gate, w_in, w_out: (F.silu(x @ w_gate) + x @ w_in) @ w_out,
        ),
        mistake(
            "your code uses the sigmoid",
            "That is the original GLU. SwiGLU uses silu(z) = z · sigmoid(z).",
            _gated(torch.sigmoid),
        ),
        mistake(
            "your code uses ReLU",
            "That is ReGLU. SwiGLU uses silu(z) = z · sigmoid(z).",
            _gated(torch.relu),
        ),
        mistake(
            "your code has no activation",
            "Apply silu to the gate.",
            _gated(lambda z: z),
        ),
        mistake(
            "your code applies silu to the product",
            "Apply it to the gate alone, before you multiply.",
            lambda x, w_gate, w_in, w_out: F.silu((x @ w_gate) * (x @ w_in)) @ w_out,
        ),
        mistake(
            "your code leaves out the gate",
            "That is an ordinary feed-forward layer. Multiply by silu(x @ w_gate) before the last matrix.",
            lambda x, w_gate, w_in, w_out: F.silu(x @ w_in) @ w_out,
            lambda x, w_gate, w_in, w_out: F.silu(x @ w_gate) @ w_out,
        ),
        mistake(
            "your code uses GELU",
            "That is GeGLU. SwiGLU uses silu(z) = z · sigmoid(z).",
            _gated(F.gelu),
        ),
        mistake(
            "your code forgets the last matrix",
            "The gated features still have width d_ff. Multiply them by w_out.",
            lambda x, w_gate, w_in, w_out: F.silu(x @ w_gate) * (x @ w_in),
        ),
        mistake(
            "your code applies silu to both projections",
            "Only the gate has an activation. The other projection stays linear.",
            lambda x, w_gate, w_in, w_out: F.silu(x @ w_gate) * F.silu(x @ w_in) @ w_out,
        ),
        mistake(
            "your code uses the same projection twice",
            "The gate is x @ w_gate; what it multiplies is x @ w_in.",
            lambda x, w_gate, w_in, w_out: F.silu(x @ w_gate) * (x @ w_gate) @ w_out,
            lambda x, w_gate, w_in, w_out: F.silu(x @ w_in) * (x @ w_in) @ w_out,
        ),
        mistake(
            "your code applies silu before the projection",
            "Project first: silu(x @ w_gate).",
            lambda x, w_gate, w_in, w_out: F.silu(x) @ w_gate * (x @ w_in) @ w_out,
        ),
        mistake(
            "your code uses tanh",
            "SwiGLU uses silu(z) = z · sigmoid(z).",
            _gated(torch.tanh),
        ),
    ),
)
