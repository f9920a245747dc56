"""Make the records of the capstone: the ladder of four models on Multi30k.

python tools/capstone.py            # all that are missing: `make capstone`
"""

import sys
from pathlib import Path

import records_capstone
from record_tables import RECORDS


def main(records: Path = RECORDS) -> int:
    """Make what is missing."""
    records_capstone.make(records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
