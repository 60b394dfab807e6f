"""The contrast of two colors, after WCAG 2.2."""

import numpy as np
from matplotlib.colors import to_rgb


def luminance(color) -> np.ndarray:
    """Relative luminance: of a color by its name, or of channels from 0 to 1 along the last axis."""
    channels = np.asarray(to_rgb(color) if isinstance(color, str) else color, dtype=float)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def contrast(one, other) -> np.ndarray:
    """From 1, the same, to 21, black on white."""
    first, second = luminance(one), luminance(other)
    return (np.maximum(first, second) + 0.05) / (np.minimum(first, second) + 0.05)
