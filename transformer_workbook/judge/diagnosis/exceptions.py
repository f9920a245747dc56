"""What does an exception of the reader's code mean? In the names that the exercise uses."""

import re
from collections.abc import Mapping

from transformer_workbook.judge.comparing import Failure

Sizes = Mapping[str, float]

CLASHES: dict[str, str] = {
    r"size of tensor a \((?P<x>\d+)\) must match the size of tensor b \((?P<y>\d+)\)": (
        "two tensors meet with {x} and {y} on one axis"
    ),
    r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<x>\d+) and (?P<y>\d+)x\d+\)": (
        "a matrix with {x} columns is multiplied with one of {y} rows"
    ),
    r"size mismatch, got input \(\d+\), mat \(\d+x(?P<x>\d+)\), vec \((?P<y>\d+)\)": (
        "a matrix with {x} columns is multiplied with a vector of {y} numbers"
    ),
    r"batch2 tensor to be: \[(?P<b>\d+), (?P<x>\d+)\] but got: \[(?P=b), (?P<y>\d+)\]": (
        "matrices with {x} columns are multiplied with ones of {y} rows"
    ),
    r"batch2 tensor to be: \[(?P<x>\d+), \d+\] but got: \[(?P<y>\d+), \d+\]": (
        "{x} matrices are multiplied with {y}"
    ),
    r"inconsistent tensor size, expected tensor \[(?P<x>\d+)\] and src \[(?P<y>\d+)\]": (
        "a vector of {x} numbers is multiplied with one of {y}"
    ),
    r"except in dimension \d+. Expected size (?P<x>\d+) but got size (?P<y>\d+)": (
        "tensors are joined that have {x} and {y} on another axis than the one they are joined on"
    ),
    r"inconsistent input_size: got (?P<y>\d+),? expected (?P<x>\d+)": (
        "a cell made for {x} numbers at a time is given {y}"
    ),
    r"expand(?:ed)? .*size .*\((?P<x>\d+)\) must match the existing size \((?P<y>\d+)\)": (
        "an axis of {y} is to be stretched to {x}"
    ),
    r"The shape of the mask .* does not match the shape of the indexed tensor": (
        "the mask in the brackets has another shape than the tensor before them"
    ),
    r"index (?P<place>-?\d+) is out of bounds for dimension \d+ with size (?P<x>\d+)": (
        "the place {place} is asked for, counted from 0, on an axis of {x}"
    ),
    r"shape '\[(?P<shape>.*)\]' is invalid for input of size (?P<y>\d+)": (
        "{y} numbers are put into the shape ({shape}), which holds another number of them"
    ),
    r"split_with_sizes expects split_sizes to sum exactly to (?P<x>\d+)": (
        "an axis of {x} is cut into parts that together are longer or shorter"
    ),
}
"""What two sizes that do not fit do in an answer, by the exception that PyTorch raises."""

OTHERS: dict[str, str] = {
    r"Dimension out of range .* but got (-?\d+)": "axis {0} is asked for, which is not there",
    r"too many indices for tensor of dimension (\d+)": (
        "there are more places in the brackets than the {0} of the tensor's axes"
    ),
    r"Boolean value of Tensor with more than one value is ambiguous": (
        "a whole tensor stands where one True or False is needed, as after `if`, `and` or `not`"
    ),
    r"step must be greater than zero": "a tensor cannot be read backwards by `[::-1]`; flip it",
    r"only one element tensors can be converted|a Tensor with \d+ elements cannot be converted": (
        "a tensor of several numbers stands where one number is needed"
    ),
    r"view size is not compatible": (
        "`view` is asked for numbers that do not lie side by side, as after a transposition; "
        "take reshape"
    ),
    r"(?:not enough|too many) values to unpack \(expected (\d+)": (
        "{0} names are given to another number of values"
    ),
    r"cannot access local variable '(\w+)'": (
        "`{0}` is read before it has a value; a name that the function sets is its own throughout"
    ),
    r"name '(\w+)' is not defined": "`{0}` has never been given a value",
    r"'Tensor' object has no attribute '(\w+)'": "a tensor has no `{0}`",
    r"'(list|tuple|int|float|str|bool|set)' object has no attribute '(\w+)'": (
        "a value of type {0} has no `{1}`"
    ),
    r"(list|tuple|string) index out of range": "a {0} is asked for a place behind its end",
    r"(\S+) is not in list|substring not found|x not in tuple": (
        "the place of something is asked for where it does not occur"
    ),
    r"KeyError: (.+)": "a dictionary is asked for the key {0}, which it does not have",
    r"Expected target size \[": (
        "cross_entropy takes the classes from axis 1, and they stand on another one"
    ),
    r"'NoneType'": "None stands where a value is needed",
    r"missing \d+ required positional arguments?: (.*)": "nothing is given for {0}",
    r"takes (.+) positional arguments? but (\d+) (?:was|were) given": (
        "{1} arguments are given to what takes {0}"
    ),
    r"tensors used as indices must be|only integer tensors": (
        "places are given that are no whole numbers"
    ),
    r"(?i)(?:expected|dtype).*\b(float|double|long|int|half)\b.*\b(float|double|long|int|half)\b": (
        "numbers of two types meet, {0} and {1}; let the one have the type of the other"
    ),
    r"can only be computed for floating point|Input dtype must be either a floating point": (
        "a mean is asked of whole numbers or truths; make floats of them"
    ),
    r"Subtraction, the `-` operator, with (?:a|two) bool": (
        "truths are subtracted; turn a mask round with ~"
    ),
    r"(?:float |integer )?division by zero": "something is divided by 0",
    r"(?:max|min)\(\) (?:arg is an|iterable argument is) empty": (
        "the largest of nothing is asked for"
    ),
    r"unsupported operand type\(s\) for (\S+): '(.+)' and '(.+)'": (
        "`{0}` stands between values of type {1} and {2}"
    ),
    r"'([\w.]+)' object is not (callable|iterable|subscriptable)": (
        "a value of type {0} is not {1}, and is used as if it were"
    ),
    r"'float' object cannot be interpreted as an integer|slice indices must be integers": (
        "a number with a fraction stands where a whole one is needed; // divides without a rest"
    ),
    r"math domain error": "a root or a logarithm is taken of a number that has none",
    r"index out of range in self|index \d+ is out of bounds for dimension": (
        "a place is asked for that a tensor does not have"
    ),
    r"1D tensors expected|must be a (?:matrix|3D)|vector expected, got|need to be at least 1D": (
        "a product is asked of tensors with too many axes for it, or too few"
    ),
    r"stack expects each tensor to be equal size": "tensors of different shapes are stacked",
    r"does not require grad": "a gradient is asked of what was computed without one",
    r"unhashable type: '(\w+)'": "a {0} stands where only what cannot change may stand, as a key",
    r"is a view of a leaf Variable|a leaf Variable that requires grad": (
        "a parameter is changed in place; gradients do not allow it"
    ),
    r"number of subscripts in the equation \((\d+)\) .* dimensions \((\d+)\)": (
        "einsum is given {0} letters for a tensor with {1} axes"
    ),
}
"""What else an exception means."""


def explained(failure: Failure, sizes: Sizes) -> str:
    """What an exception says of the answer, or nothing where it is not known.

    Sizes are called by the names of the axes that have them; sizes of which none has a name are
    not explained.

    >>> said = "The size of tensor a (3) must match the size of tensor b (2)"
    >>> explained(Failure(said, ", in line 2: x - y"), {"batch": 2.0, "d": 3.0})
    'two tensors meet with 3 (d) and 2 (batch) on one axis, in line 2: x - y.'
    """
    said = _clash(failure.error, sizes) or _other(failure.error)
    return Failure(said, failure.place).sentence if said else ""


def _clash(error: str, sizes: Sizes) -> str:
    """Which sizes do not fit, if one of them at least has a name."""
    for pattern, sentence in CLASHES.items():
        if found := re.search(pattern, error):
            given = found.groupdict()
            named = {key: _named(given[key], sizes) for key in given.keys() & {"x", "y"}}
            unknown = named and all(text.isdigit() for text in named.values())
            return "" if unknown else sentence.format(**given | named)
    return ""


def _named(size: str, sizes: Sizes) -> str:
    """A size, and what is as large."""
    names = [name for name, value in sizes.items() if value == int(size)]
    return f"{size} ({' or '.join(names)})" if names else size


def _other(error: str) -> str:
    for pattern, sentence in OTHERS.items():
        if found := re.search(pattern, error):
            return sentence.format(*found.groups())
    return ""
