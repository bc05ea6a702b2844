"""The arrays of type hints, by what is in them."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Index = NDArray[np.integer]
