"""Let Hugging Face's classes write a small random BERT, and what it computes, for a lesson.

PYTHONPATH=. python tools/write_small_bert.py
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel

FOLDER = Path(__file__).resolve().parent.parent / "book" / "records" / "small_bert"
IDS = torch.tensor([[5, 6, 7, 8, 2], [9, 7, 2, 0, 0]])
SEGMENTS = torch.tensor([[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]])


@torch.no_grad()
def hidden_states(model: BertModel) -> dict[str, torch.Tensor]:
    """Return the ids, their segments, and the vectors before and after each layer."""
    real = (IDS != 0).long()
    found = model.eval()(IDS, real, SEGMENTS, output_hidden_states=True).hidden_states
    states = {f"after layer {i}": state.contiguous() for i, state in enumerate(found)}
    return {"ids": IDS, "segments": SEGMENTS} | states


def main() -> None:
    """Write the folder."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=24, max_position_embeddings=12,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
        for name, parameter in model.named_parameters():
            if name.endswith("LayerNorm.weight"):
                parameter += 1
    model.save_pretrained(FOLDER)
    save_file(hidden_states(model), FOLDER / "hidden_states.safetensors")


if __name__ == "__main__":
    main()
