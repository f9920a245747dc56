"""Compiled steps are those of the readable trainer; tests run this in a process of its own.

``fullgraph`` refuses a program that asks for a number on the way, and so would wait for the device.
On a processor all stages of the compiler but the last have their turn. With the name of a device
as its argument, it compiles for that one, which then refuses to be waited for.
"""

import sys
from copy import deepcopy
from functools import partial
from itertools import islice

import torch

from annotated_transformer.batches import Batch
from annotated_transformer.fast import PackedTrainer, pack, packed_batches
from annotated_transformer.ground.devices import move
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.training import Trainer
from small_models import random_examples, small_model

EXAMPLES = random_examples(24)
PARTS = [Batch.of(EXAMPLES[:9]), Batch.of(EXAMPLES[9:])]
ROWS = [[range(4), range(4, 9)], [range(9, 16), range(16, 24)]]
TURNED = {"positions": "rotary", "gated": True, "norm": "rms", "norm_position": "pre"}
LEARNED = {"positions": "learned", "tie_output": False, "num_kv_heads": 1}


def trainers(backend, device, precision, changes):
    """The readable trainer on the processor, and the packed one on the device."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = small_model("transformer", **changes)
    model = model.float() if precision == "bfloat16" else model
    loss = partial(smoothed_cross_entropy, smoothing=0.1)
    readable = Trainer(deepcopy(model), loss, lambda _: 0.01)
    there = move(model, device)
    return readable, PackedTrainer(there, 0.1, lambda _: 0.01, backend=backend, precision=precision)


def compare(backend, device, precision="float32", **changes):
    """Compare three steps; of the second and the third nothing is compiled any more."""
    readable, packed = trainers(backend, device, precision, changes)
    within = 1e-10 if precision == "float32" else 0.03
    batches = [pack(EXAMPLES, rows, 48, device) for rows in ROWS]
    others = [*islice(packed_batches(EXAMPLES, 2, 48, seed=1, device=device), 4)]
    expected = [readable.update(PARTS) for _ in range(3)]
    packed.update(batches)
    with torch.compiler.set_stance("fail_on_recompile"):
        if device.type == "cuda":
            torch.cuda.set_sync_debug_mode("error")
        found = [packed.update(batches) for _ in range(2)]
        if device.type == "cuda":
            torch.cuda.set_sync_debug_mode("default")
        torch.testing.assert_close([*found, packed.read()], expected, rtol=within, atol=0)
        for batch in others:
            packed.update([batch])


if sys.argv[1:]:
    DEVICE = torch.device(sys.argv[1])
    for precision, name in (("float32", "float64"), ("bfloat16", "bfloat16")):
        compare("inductor", DEVICE, precision)
        print(name)
else:
    CPU = torch.device("cpu")
    for backend, changes in (("eager", TURNED), ("aot_eager", LEARNED)):
        compare(backend, CPU, **changes)
        print(backend)
