"""Let Hugging Face's class compute the hidden states of the published model, for a lesson.

PYTHONPATH=. python tools/write_minilm_states.py
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import BertModel

from fetch_weights import FOLDER

FILE = Path(__file__).resolve().parent.parent / "book" / "records" / "minilm_states.safetensors"
TEXTS = ["A cook stirs a pot of soup.", "A wedding."]


@torch.no_grad()
def hidden_states(folder: Path) -> dict[str, torch.Tensor]:
    """Return the ids of two captions, and the vectors before and after each layer.

    They are computed in float64, which no processor rounds otherwise, and rounded once.
    """
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    ids = torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(TEXTS)])
    model = BertModel.from_pretrained(folder, add_pooling_layer=False).double().eval()
    found = model(ids, (ids != 0).long(), output_hidden_states=True).hidden_states
    return {"ids": ids, "states": torch.stack(found).float()}


if __name__ == "__main__":
    save_file(hidden_states(FOLDER), FILE)
