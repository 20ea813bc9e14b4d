"""`python -m handfast`."""

from handfast.cli import main

main()
