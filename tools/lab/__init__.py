"""The parts of `make lab`: the reader's copies, JupyterLab's settings, and help in its kernels."""
