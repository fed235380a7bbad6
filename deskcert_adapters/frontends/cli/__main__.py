"""`python -m deskcert_adapters.frontends.cli` is the same as `deskcert`."""

from deskcert_adapters.frontends.cli.main import main

main()
