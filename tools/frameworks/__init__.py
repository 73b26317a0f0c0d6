"""Functions of JAX and estimators of scikit-learn, compiled, as what they were before."""
