"""The sink logit of the record is that of Hugging Face."""

from types import SimpleNamespace

import torch
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

from annotated_transformer.masking import causal_mask
from oracles import assert_close
from records.sinks import CutAttention


def test_a_sink_logit_is_that_of_gpt_oss():
    query, key, value = torch.randn(3, 2, 4, 9, 5).double()
    logit = torch.randn(4, 1, 1).double()
    ours = CutAttention(logit)
    ours.window, ours.kept = 3, [1]
    near = causal_mask(9).triu(-2)
    near[..., 1] = causal_mask(9)[..., 1]
    layer = SimpleNamespace(num_key_value_groups=1, sinks=logit.flatten(), training=False)
    mask = torch.zeros(near.shape).double().masked_fill(~near, -torch.inf)
    theirs, _ = eager_attention_forward(layer, query, key, value, mask, 5**-0.5)
    assert_close(ours(query, key, value, causal_mask(9)), theirs.transpose(1, 2), 1e-12)
