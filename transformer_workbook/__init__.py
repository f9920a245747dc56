"""The companion of the course: exercises, a judge, figures, and checks of the reader's own package.

Nothing else is imported here, so that the command line starts quickly; import from the folders:
``from transformer_workbook import exercises``, ``from transformer_workbook.notebook import table``.
"""

import sys

from transformer_workbook.aliases import Aliases

sys.meta_path.append(Aliases())
