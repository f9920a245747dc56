"""Exchange: models handed over to programs of others, and taken from them.

Import from here. Inside, each upon those before: ``marian`` (the names and the order of Marian's
weights), ``model_folder`` (what every handed-over folder has), ``to_marian``,
``to_ctranslate2``, ``marian_files`` (those of a published model), ``from_marian``.
"""

from annotated_transformer.exchange.from_marian import import_marian
from annotated_transformer.exchange.marian import halves, marian_names, reordered
from annotated_transformer.exchange.to_ctranslate2 import export_to_ctranslate2
from annotated_transformer.exchange.to_marian import export_to_marian, marian_settings

__all__ = [
    "export_to_ctranslate2",
    "export_to_marian",
    "halves",
    "import_marian",
    "marian_names",
    "marian_settings",
    "reordered",
]
