"""What does an exception in the reader's code mean, in the names that the exercise uses?"""

import re
from collections.abc import Mapping

from transformer_workbook.judge.comparing import Failure
from transformer_workbook.judge.sentences import either, said, to_say

Sizes = Mapping[str, float]

_TYPE = "float|double|long|int|half"

MEANINGS: dict[str, str] = {
    r"size of tensor a \((?P<x>\d+)\) must match the size of tensor b \((?P<y>\d+)\)": to_say(
        "two tensors meet with {x} and {y} on one axis"
    ),
    r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<x>\d+) and (?P<y>\d+)x\d+\)": to_say(
        "a matrix with {x} columns is multiplied by one with {y} rows"
    ),
    r"size mismatch, got input \(\d+\), mat \(\d+x(?P<x>\d+)\), vec \((?P<y>\d+)\)": to_say(
        "a matrix with {x} columns is multiplied by a vector of {y} numbers"
    ),
    r"batch2 tensor to be: \[(?P<b>\d+), (?P<x>\d+)\] but got: \[(?P=b), (?P<y>\d+)\]": to_say(
        "matrices with {x} columns are multiplied by matrices with {y} rows"
    ),
    r"batch2 tensor to be: \[(?P<x>\d+), \d+\] but got: \[(?!(?P=x),)(?P<y>\d+), \d+\]": to_say(
        "{x} matrices are multiplied by {y} matrices"
    ),
    r"inconsistent tensor size, expected tensor \[(?P<x>\d+)\] and src \[(?P<y>\d+)\]": to_say(
        "a vector of {x} numbers is multiplied by one of {y}"
    ),
    r"except in dimension \d+. Expected size (?P<x>\d+) but got size (?P<y>\d+)": to_say(
        "tensors are concatenated that differ ({x} and {y}) on another axis than the one of `cat`"
    ),
    r"inconsistent input_size: got (?P<y>\d+),? expected (?P<x>\d+)": to_say(
        "a cell with input size {x} is given {y} numbers"
    ),
    r"expand(?:ed)? .*size .*\((?P<x>\d+)\) must match the existing size \((?P<y>\d+)\)": to_say(
        "an axis of size {y} cannot be expanded to {x}"
    ),
    r"The shape of the mask .* does not match the shape of the indexed tensor": to_say(
        "the mask in the brackets has another shape than the tensor before them"
    ),
    r"index (?P<place>-?\d+) is out of bounds for dimension \d+ with size (?P<x>\d+)": to_say(
        "index {place} is out of range on an axis of size {x}"
    ),
    r"shape '\[(?P<shape>.*)\]' is invalid for input of size (?P<y>\d+)": to_say(
        "{y} numbers are put into the shape ({shape}), which holds another number of them"
    ),
    r"split_with_sizes expects split_sizes to sum exactly to (?P<x>\d+)": to_say(
        "an axis of size {x} is split into parts whose sizes do not sum to it"
    ),
    r"Dimension out of range .* but got (?P<axis>-?\d+)": to_say("there is no axis {axis}"),
    r"too many indices for tensor of dimension (?P<number>\d+)": to_say(
        "there are more indices in the brackets than the tensor's {number} axes"
    ),
    r"Boolean value of Tensor with more than one value is ambiguous": to_say(
        "a whole tensor stands where one True or False is needed, as after `if`, `and` or `not`"
    ),
    r"step must be greater than zero": to_say(
        "a tensor cannot be read backwards by `[::-1]`; flip it"
    ),
    r"one element tensors can be converted|a Tensor with \d+ elements cannot be converted": to_say(
        "a tensor of several numbers stands where one number is needed"
    ),
    r"view size is not compatible": to_say(
        "`view` finds the numbers in another order in memory; "
        "reshape copies them, once the axes stand in the right order"
    ),
    r"\"bitwise_\w+\" not implemented for '\w+'|invert\) is only implemented on integer": to_say(
        "`&`, `|` and `~` are for booleans, and a mask here has numbers; `.bool()` converts it"
    ),
    r"input dtype \(torch.int64\) does not match weight dtype": to_say(
        "a network that reads vectors is given ids; an embedding makes vectors of them"
    ),
    r"(?:not enough|too many) values to unpack \(expected (?P<number>\d+)": to_say(
        "{number} names are given to another number of values"
    ),
    r"cannot access local variable '(?P<name>\w+)'": to_say(
        "`{name}` is read before it has a value; "
        "a name that the function sets is its own throughout"
    ),
    r"name '(?P<name>\w+)' is not defined": to_say("`{name}` has never been given a value"),
    r"'Tensor' object has no attribute '(?P<name>\w+)'": to_say("a tensor has no `{name}`"),
    r"'(?P<type>list|tuple|int|float|str|bool|set)' object has no attribute '(?P<name>\w+)": to_say(
        "a value of type {type} has no `{name}`"
    ),
    r"(?P<type>list|tuple|string) index out of range": to_say(
        "an index of a {type} is beyond its end"
    ),
    r"(\S+) is not in list|substring not found|x not in tuple": to_say(
        "the index of something is asked for that does not occur"
    ),
    r"KeyError: (?P<key>.+)": to_say(
        "a dictionary is asked for the key {key}, which it does not have"
    ),
    r"Expected target size \[": to_say(
        "cross_entropy takes the classes from axis 1, and they stand on another one"
    ),
    r"'NoneType'": to_say("None stands where a value is needed"),
    r"missing \d+ required positional arguments?: (?P<names>.*)": to_say(
        "nothing is given for {names}"
    ),
    r"takes (?P<number>.+) positional arguments? but (?P<given>\d+) (?:was|were) given": to_say(
        "{given} arguments are given to what takes {number}"
    ),
    r"tensors used as indices must be|only integer tensors": to_say("an index is not an integer"),
    rf"(?i)(?:expected|dtype).*\b(?P<one>{_TYPE})\b.*\b(?P<other>{_TYPE})\b": to_say(
        "numbers of two types meet, {one} and {other}; let the one have the type of the other"
    ),
    r"can only be computed for floating point|Input dtype must be either a floating point": to_say(
        "a mean is taken of integers or booleans; convert them to floats"
    ),
    r"Subtraction, the `-` operator, with (?:a|two) bool": to_say(
        "booleans are subtracted; invert a mask with ~"
    ),
    r"(?:float |integer )?division by zero": to_say("something is divided by 0"),
    r"(?:max|min)\(\) (?:arg is an|iterable argument is) empty": to_say(
        "the largest number of an empty sequence is asked for"
    ),
    r"unsupported operand type\(s\) for (?P<sign>\S+): '(?P<one>.+)' and '(?P<other>.+)'": to_say(
        "`{sign}` stands between values of type {one} and {other}"
    ),
    r"'(?P<type>[\w.]+)' object is not callable": to_say(
        "a value of type {type} is not callable, and is used as if it were"
    ),
    r"'(?P<type>[\w.]+)' object is not iterable": to_say(
        "a value of type {type} is not iterable, and is used as if it were"
    ),
    r"'(?P<type>[\w.]+)' object is not subscriptable": to_say(
        "a value of type {type} is not subscriptable, and is used as if it were"
    ),
    r"'float' object cannot be interpreted as an integer|slice indices must be integers": to_say(
        "a float is given where an integer is needed; // divides without a remainder"
    ),
    r"math domain error": to_say("a root or a logarithm is taken of a number that has none"),
    r"index out of range in self|index \d+ is out of bounds for dimension": to_say(
        "an index is beyond the end of a tensor"
    ),
    r"1D tensors expected|must be a (?:matrix|3D)|vector expected, got|to be at least 1D": to_say(
        "a product is taken of tensors with too many or too few axes"
    ),
    r"stack expects each tensor to be equal size": to_say(
        "tensors of different shapes are stacked"
    ),
    r"does not require grad": to_say(
        "a gradient is taken of a tensor that was computed without one"
    ),
    r"unhashable type: '(?P<type>\w+)'": to_say(
        "a {type} is used as a key, which must be immutable"
    ),
    r"is a view of a leaf Variable|a leaf Variable that requires grad": to_say(
        "a parameter is changed in place; gradients do not allow it"
    ),
    r"subscripts in the equation \((?P<letters>\d+)\) .* dimensions \((?P<number>\d+)\)": to_say(
        "einsum is given {letters} letters for a tensor with {number} axes"
    ),
}
"""The meaning of an exception, by its message. Two sizes that do not fit are called x and y."""


def explained(failure: Failure, sizes: Sizes) -> str:
    """Explain an exception, or return "" if it is unknown.

    Sizes are called by the names of the axes that have them, where they have a name.

    >>> error = "The size of tensor a (3) must match the size of tensor b (2)"
    >>> explained(Failure(error, place="2: x - y"), {"batch": 2.0, "d": 3.0})
    'two tensors meet with 3 (d) and 2 (batch) on one axis, in line 2: x - y.'
    """
    for pattern, sentence in MEANINGS.items():
        if found := re.search(pattern, failure.error):
            given = found.groupdict()
            named = {key: _named(given[key], sizes) for key in given.keys() & {"x", "y"}}
            return Failure(said(sentence, **given | named), place=failure.place).sentence
    return ""


def _named(size: str, sizes: Sizes) -> str:
    """Write a size, with the names of what has this size."""
    names = [name for name, value in sizes.items() if value == int(size)]
    return said("{size} ({names})", size=size, names=either(names)) if names else size
