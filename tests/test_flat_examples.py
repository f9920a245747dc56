"""Sentence pairs in flat arrays are a sequence like a list, in memory and on disk."""

import re
import weakref
from contextlib import nullcontext

import numpy as np
import pytest

from annotated_transformer.batches import pad
from annotated_transformer.ground.errors import InputError
from annotated_transformer.text.examples import Examples, read_examples, write_examples
from small_models import random_examples

EXAMPLES = [*random_examples(60, longest=9, vocab=2**31 - 1), ([], [7]), ([8], []), ([], [])]

NO_IDS = [True, 5.7, 5.0, float("nan"), -1, 2**31, 2**70, "5", None, [5]]


def chunks(examples, size):
    return (examples[i : i + size] for i in range(0, len(examples), size))


@pytest.fixture(params=["in memory", "on disk"])
def examples(request, tmp_path):
    if request.param == "in memory":
        return Examples.of(EXAMPLES)
    write_examples(tmp_path, chunks(EXAMPLES, 17))
    return read_examples(tmp_path)


def test_it_is_the_sequence_of_its_examples(examples):
    assert len(examples) == len(EXAMPLES)
    assert list(examples) == EXAMPLES
    assert [examples[i] for i in range(len(EXAMPLES))] == EXAMPLES
    assert examples[-1] == EXAMPLES[-1]
    assert examples[np.int64(3)] == EXAMPLES[3]
    assert EXAMPLES[5] in examples
    assert list(reversed(examples)) == EXAMPLES[::-1]
    with pytest.raises(IndexError):
        examples[len(EXAMPLES)]
    source, target = examples[0]
    assert {type(token) for token in source + target} == {int}


@pytest.mark.parametrize("part", [slice(5), slice(3, 20), slice(None, None, -2), slice(70, 80)])
def test_a_slice_has_the_same_arrays(examples, part):
    cut = examples[part]
    assert isinstance(cut, Examples)
    assert list(cut) == EXAMPLES[part]
    assert list(cut[1:][:4]) == EXAMPLES[part][1:][:4]
    assert cut.lengths.tolist() == [[len(s), len(t)] for s, t in EXAMPLES[part]]
    assert cut.sides is examples.sides
    assert Examples.of(cut) is cut


def test_lengths_and_the_pairs_within_a_length(examples):
    assert examples.lengths.shape == (len(EXAMPLES), 2)
    assert examples.lengths.tolist() == [[len(s), len(t)] for s, t in EXAMPLES]
    for longest in (0, 1, 4, 9):
        short = [pair for pair in EXAMPLES if max(map(len, pair)) <= longest]
        assert list(examples.within(longest)) == short
        assert list(examples[10:].within(longest)) == [p for p in short if p in EXAMPLES[10:]]
    assert examples.within(-1).lengths.shape == (0, 2)


def test_nothing_is_examples_too():
    nothing = Examples.of([])
    assert len(nothing) == len(nothing.within(5)) == 0
    assert list(nothing) == []
    assert nothing.lengths.shape == (0, 2)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_was_written_is_mapped_and_not_read(tmp_path, size):
    write_examples(tmp_path, chunks(EXAMPLES, size))
    found = read_examples(tmp_path)
    assert list(found) == EXAMPLES
    for side in found.sides:
        assert isinstance(side.ids, np.memmap)
        assert isinstance(side.starts, np.memmap)
        assert not side.ids.flags.writeable
    tokens = sum(len(source) + len(target) for source, target in EXAMPLES)
    on_disk = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert on_disk == 4 * tokens + 2 * 8 * (len(EXAMPLES) + 1)


class Chunk(list):
    """A list of which one can see whether anybody holds it."""


def test_chunks_are_written_one_by_one_and_never_held_together(tmp_path):
    written = []

    def source():
        for chunk in map(Chunk, chunks(EXAMPLES, 20)):
            assert all(earlier() is None for earlier in written[:-1])
            written.append(weakref.ref(chunk))
            yield chunk

    write_examples(tmp_path, source())
    assert len(written) == 4
    assert list(read_examples(tmp_path)) == EXAMPLES


@pytest.mark.parametrize("name", ["src.ids", "src.starts", "tgt.ids", "tgt.starts"])
def test_files_that_are_missing_or_do_not_fit_are_told(tmp_path, name):
    write_examples(tmp_path, [EXAMPLES])
    whole = (tmp_path / name).read_bytes()
    width = 4 if name.endswith("ids") else 8
    for damaged in (whole[:-width], whole + whole[-width:]):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(InputError, match=r"^the files in .* do not fit together: delete them"):
            read_examples(tmp_path)
    for damaged in (b"", whole[:-1]):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(InputError, match=r"holds no sentences \(.*\): delete it"):
            read_examples(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=rf"holds no sentences \(.*{name}.*\): delete it"):
        read_examples(tmp_path)


@pytest.mark.parametrize("starts", [[0, 0, 2, 3], [1, 2, 2, 3], [0, 3, 2, 3], [0, -7, 2, 3]])
def test_sentences_that_are_not_one_after_the_other_are_told(tmp_path, starts):
    write_examples(tmp_path, [[([5], [6]), ([7], [8]), ([9], [10])]])
    assert len(read_examples(tmp_path)) == 3
    np.array(starts, "<i8").tofile(tmp_path / "tgt.starts")
    in_order = starts == sorted(starts) and starts[0] == 0
    expected = nullcontext() if in_order else pytest.raises(InputError, match="do not fit together")
    with expected:
        read_examples(tmp_path)


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("wrong", NO_IDS)
def test_what_is_no_id_is_refused_not_rounded(wrong):
    message = f"an id is {wrong!r}, it must be an integer from 0 to 2147483647."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        Examples.of([([5], [6]), ([5, wrong], [5])])
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        pad([[5], [6, wrong]])


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("wrong", [5, "abc", None])
def test_what_is_no_sentence_is_refused(wrong):
    message = f"a sequence is {wrong!r}, it must be a list of ids."
    with pytest.raises(InputError, match=re.escape(message)):
        Examples.of([([5], [6]), (wrong, [5])])
    with pytest.raises(InputError, match=re.escape(message)):
        pad([[5], wrong])


@pytest.mark.usefixtures("as_readers_do")
def test_ids_may_come_from_numpy():
    array = np.array([5, 6], "<i4")
    assert Examples.of([(array, [7])])[0] == ([5, 6], [7])
    assert pad([array, [7]]).tolist() == [[5, 6], [7, 0]]
