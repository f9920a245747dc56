import torch

from transformer_workbook.chapters.find_the_bug import proofs
from transformer_workbook.chapters.find_the_bug.faulty.models import patient

WAYS = ["40 at once", "again", "one at a time", "incremental"]


def train_alike():
    proofs.train_alike(lambda number, pairs, **settings: (patient(number), [number]), [])


def learns_fastest():
    proofs.learns_fastest({number: [1.0 + number] * 100 for number in range(9)})


def four_losses():
    proofs.four_losses([dict.fromkeys(WAYS, 1.0)] * 9)


def leaks():
    proofs.leaks(lambda layers: torch.ones(5, 5).triu(diagonal=-1).bool())


def one_batch():
    row = {"last training loss": 0.01, "evaluation loss": 0.01, "exact matches, of 8": 8}
    proofs.one_batch([row] * 9)


def signs_differ():
    proofs.signs_differ([[True] * 9, [True] * 8 + [False]])


def one_position_is_split_alike():
    proofs.one_position_is_split_alike({0: patient(0), 3: patient(0)})


def copies_drift_apart():
    proofs.copies_drift_apart(lambda model: True, patient(5), patient(5))


REFUTED = {
    train_alike: "this is not true: the first five losses",
    learns_fastest: "this is not true: on average over steps 20 to 100, patient 3",
    four_losses: "this is not true: the four losses of the healthy model",
    leaks: "this is not true: with 1, 2, 3 and 4 layers",
    one_batch: "this is not true: patient 3 translates none",
    signs_differ: "this is not true: no two patients fail the same set of tests",
    one_position_is_split_alike: "this is not true: patient 3 splits one position",
    copies_drift_apart: "this is not true: before training, patient 5 fails",
}
