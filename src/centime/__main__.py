"""`python -m centime` is the command `centime`."""

from centime.cli.main import main

if __name__ == "__main__":
    main()
