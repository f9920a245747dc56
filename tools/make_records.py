"""Make the records of the book: results that take longer than a chapter has.

    python tools/make_records.py            # all that are missing: `make records`

A record is a table in book/records, one row a run, and beside it a JSON file that says how it was
made. A row that is already there is kept; delete a table to make it anew.
"""

import sys
from pathlib import Path

import records_part1
import records_part2
import records_part3_copying
import records_part3_decoding
import records_part3_heads
import records_part3_layers
import records_part3_norm
import records_part3_training
from record_tables import RECORDS


def main(records: Path = RECORDS) -> int:
    """Make what is missing of all records."""
    records_part1.make(records)
    records_part2.make(records)
    records_part3_decoding.make(records)
    records_part3_norm.make(records)
    records_part3_layers.make(records)
    records_part3_copying.make(records)
    records_part3_training.make(records)
    records_part3_heads.make(records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
