"""Files become a resolved suite: read strictly, checked against their schemas and each other, every problem told at once."""

from deskcert_core.loading.suite import Loaded, load_suite

__all__ = ["Loaded", "load_suite"]
