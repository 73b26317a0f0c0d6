"""
Run an artifact in an environment with numpy alone: `python run_artifact.py ARTIFACT INPUTS.npz OUTPUTS.npz`.

Prints as JSON the packages that were imported, and the threads of the pool.
"""

import json
import sys
import threading

import numpy as np

import stepwell


def main(artifact: str, inputs: str, outputs: str) -> None:
    """Load, run twice, and write the results of the second call."""
    model = stepwell.load(artifact, threads=2)
    with np.load(inputs) as feeds:
        given = dict(feeds)
    model.run(given)
    np.savez(outputs, **model.run(given))  # pyright: ignore[reportArgumentType]
    packages = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
    workers = [thread.name for thread in threading.enumerate() if "stepwell-worker" in thread.name]
    print(json.dumps({"packages": sorted(packages), "workers": len(workers)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
