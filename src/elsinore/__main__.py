"""`python -m elsinore`: the command line, where the command itself is not on the path."""

from elsinore.cli import main

if __name__ == "__main__":
    main()
