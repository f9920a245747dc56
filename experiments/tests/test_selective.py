"""The layer of the record on selective state spaces is that of Mamba-2."""

import torch

from oracles import assert_close
from records.selective import D_MODEL, HEADS, WIDTH, Mamba2
from test_state_space import mamba, with_weights_of


@torch.no_grad()
def test_the_layer_is_that_of_hugging_face():
    theirs, x = mamba(D_MODEL, HEADS, WIDTH, WIDTH), torch.randn(2, 9, D_MODEL).double()
    assert_close(with_weights_of(theirs, Mamba2(is_selective=True))(x), theirs(x), 1e-5)
