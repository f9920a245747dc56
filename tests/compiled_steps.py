"""Compiled steps are those of the readable trainer; ``test_packed.py`` runs this by itself.

``fullgraph`` refuses a program that asks for a number on the way, and so would wait for the device.
The compiler's last stage, which writes programs for one device, has its turn where there is one.
"""

from copy import deepcopy
from functools import partial
from itertools import islice

import torch

from annotated_transformer.batches import Batch
from annotated_transformer.fast import PackedTrainer, pack, packed_batches
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.training import Trainer
from small_models import random_examples, small_model

EXAMPLES = random_examples(24)
PARTS = [Batch.of(EXAMPLES[:9]), Batch.of(EXAMPLES[9:])]
PACKED = [pack([EXAMPLES[:4], EXAMPLES[4:9]], 40), pack([EXAMPLES[9:16], EXAMPLES[16:]], 40)]
TURNED = {"positions": "rotary", "gated": True, "norm": "rms", "norm_position": "pre"}
LEARNED = {"positions": "learned", "tie_output": False, "num_kv_heads": 1}


def rate(_):
    return 0.01


for backend, changes in (("eager", TURNED), ("eager", LEARNED), ("aot_eager", {})):
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = small_model("transformer", **changes)
    readable = Trainer(deepcopy(model), partial(smoothed_cross_entropy, smoothing=0.1), rate)
    packed = PackedTrainer(model, 0.1, rate, backend=backend)
    expected = [readable.update(PARTS) for _ in range(3)]
    packed.update(PACKED)
    with torch.compiler.set_stance("fail_on_recompile"):
        found = [packed.update(PACKED) for _ in range(2)]
        torch.testing.assert_close([*found, packed.read()], expected, rtol=1e-10, atol=0)
        for name, tensor in readable.tensors().items():
            # Adam, whose epsilon is 1e-9, enlarges the rounding of gradients that are zero.
            torch.testing.assert_close(packed.tensors()[name], tensor, rtol=0, atol=1e-9)
        for batch in islice(packed_batches(EXAMPLES, 2, 40, seed=1), 4):
            packed.update([batch])
    if changes != LEARNED:
        print(backend)
