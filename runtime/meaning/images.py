"""Images in files, decoded by the image library where it is installed."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.packages import needed


@meaning("host.image_decoder")
def image_decoder(stream: Array, *, pixel_format: str) -> Array:
    """
    The pixels of an image file, rows first and channels last.

    A stream that cannot be read gives an empty image.
    Raises: StepwellError `missing-package` without Pillow.
    """
    with needed("the operator ImageDecoder", install="'stepwell[images]'"):
        library: Any = import_module("PIL.Image")
    channels = 1 if pixel_format == "Grayscale" else 3
    try:
        image = library.open(BytesIO(stream.tobytes())).convert("L" if channels == 1 else "RGB")
    except (OSError, ValueError):
        return np.zeros((0, 0, channels), np.uint8)
    pixels = np.array(image, np.uint8).reshape(image.height, image.width, channels)
    return pixels[:, :, ::-1].copy() if pixel_format == "BGR" else pixels
