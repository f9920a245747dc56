from answers import wrong


@wrong("unfair_in", "all keys that differ, models and steps too")
def _(first, second):
    bad = {k for k in first if first[k] != second[k]}
    if first["chosen_on"] == "test" or second["chosen_on"] == "test":
        bad.add("chosen_on")
    return sorted(bad)


wrong("five_wrong_words", "the share of right words")(75)
wrong("five_wrong_words", "the places do not matter")(0)
wrong("five_wrong_words", "as a fraction of one")(0.73)


