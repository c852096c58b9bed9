"""Counts words, until it meets something that is no text."""


def count_words(texts):
    counts = {}
    for problematic_var in texts:
        counts[problematic_var] = len(problematic_var.split())
    return counts


print("counting")
print(count_words(["one two", "three", None]))
