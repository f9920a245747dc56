"""The costs of a pass are those that PyTorch counts, and the bytes of the tensors that it moves."""

import pytest

from annotated_transformer.costs import cost_of_pass
from annotated_transformer.ground.errors import InputError
from annotated_transformer.language_model import LanguageModelConfig
from transformer_workbook.chapters.what_a_token_costs import proofs

SETTINGS = (
    {"num_kv_heads": None, "d_k": None, "gated": False, "positions": "rotary", "bias": False},
    {"num_kv_heads": 1, "d_v": 10, "qk_norm": True, "tie_output": False},
)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_pass_costs_what_pytorch_counts(settings):
    proofs.cost(cost_of_pass, cost_of_pass, **settings)


@pytest.mark.parametrize(("name", "value"), [("new", 0), ("past", -1), ("batch", 0)])
def test_a_number_that_cannot_be_is_refused(name, value):
    config = LanguageModelConfig.tiny(50, 50)
    with pytest.raises(InputError, match=f"^{name} is {value}, it must be an integer, at least"):
        cost_of_pass(config, **{"new": 1} | {name: value})
