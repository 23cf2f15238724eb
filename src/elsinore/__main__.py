"""`python -m elsinore`: the command line, if the command is not on the path."""

from elsinore.cli import main

if __name__ == "__main__":
    main()
