"""Values of programs that are not tensors: data."""

from stepwell.runtime.values.data import Data as Data
