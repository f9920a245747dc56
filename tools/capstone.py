"""Make the capstone: a Transformer for Multi30k, a ladder of four models, and a rival.

python tools/capstone.py            # all that is missing: `make capstone`
"""

import sys
from pathlib import Path

import make_checkpoint
import records_capstone
import records_rival
from record_tables import RECORDS


def main(records: Path = RECORDS) -> int:
    """Make what is missing."""
    make_checkpoint.make(records)
    records_capstone.make(records)
    records_rival.make(records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
