"""The packages of a build and their folders; metadata and dependencies are in pyproject.toml."""

from setuptools import find_packages, setup

# `stepwell/` links to each of these. A build does not follow the links: git makes small text files of them
# where it may not create links, and the wheel would have no compiler in it.
LAYERS = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "tools")

setup(
    packages=[
        "stepwell",
        *find_packages(include=["stepwell.onnxruntime*"]),
        *(f"stepwell.{name}" for name in find_packages() if name.split(".")[0] in LAYERS),
    ],
    package_dir={"stepwell": "stepwell", **{f"stepwell.{layer}": layer for layer in LAYERS}},
    package_data={
        "stepwell": ["py.typed"],
        "": ["*.mlir", "*.csv", "*.txt", "*.pyi", "page/*.js", "page/*.css", "package/*", "*.mjs"],
    },
)
