"""The entry point of the records: make missing rows, check that none are missing, or list all."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import records
from annotated_transformer.ground.errors import InputError
from records.tables import RECORDS

DESCRIPTION = (
    "Make the missing rows of the book's records: results that take too long for a chapter."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m records", description=DESCRIPTION)
    parser.add_argument("names", nargs="*", metavar="NAME", help="tables; default: all of a group")
    parser.add_argument("--group", choices=records.GROUPS, default="records")
    parser.add_argument("--check", action="store_true", help="fail if a row is missing")
    parser.add_argument("--list", action="store_true", help="print the names of all tables")
    parser.add_argument("--folder", type=Path, default=RECORDS, help="the folder of the tables")
    given = parser.parse_args(arguments)
    if given.list:
        for record in records.TABLE.values():
            made_by = f"make {record.group:8}  {record.minutes:3} min"
            print(f"{record.name:20}  {made_by}  {record.about}")
        return 0
    try:
        records.make(given.names or records.names_in(given.group), given.folder, given.check)
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
