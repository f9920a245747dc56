"""Exchange: models exported to other programs, and imported from them.

Import from here. Each module uses only those before it: ``marian`` (names and order of Marian's
weights), ``model_folder`` (the files of every exported folder), ``to_marian``,
``to_ctranslate2``, ``eight_bits`` (weights as small integers), ``to_web`` (the book's laboratory),
``model_files`` (the settings and tensors of any published model), ``marian_files`` (those of
Marian, and its vocabularies), ``from_marian``, ``from_hugging_face``, ``hub``.
"""

from annotated_transformer.exchange.from_hugging_face import load_model
from annotated_transformer.exchange.from_marian import import_marian
from annotated_transformer.exchange.hub import MINILM, PublishedModel
from annotated_transformer.exchange.marian import halves, marian_names, reordered
from annotated_transformer.exchange.to_ctranslate2 import export_to_ctranslate2
from annotated_transformer.exchange.to_marian import export_to_marian, marian_settings
from annotated_transformer.exchange.to_web import export_to_web

__all__ = [
    "MINILM",
    "PublishedModel",
    "export_to_ctranslate2",
    "export_to_marian",
    "export_to_web",
    "halves",
    "import_marian",
    "load_model",
    "marian_names",
    "marian_settings",
    "reordered",
]
