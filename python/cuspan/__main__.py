"""python -m cuspan: the command `cuspan`, for an installation without its script (pip install --target)."""

from cuspan._cli import main

main()
