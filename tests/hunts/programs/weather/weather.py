"""Reads the temperatures of a winter day aloud, hour by hour."""

from num2words import num2words

MEASURED = [2.1, 1.7, 1.2, 0.8, 0.3, -0.4, -1.2, -1.9, -2.5, -2.2, -1.4, -0.6, 0.2, 0.9, 1.1, 0.7, 0.1, -0.3, -0.8]

for hour, degrees in enumerate(MEASURED):
    print(f"{hour}: {num2words(degrees)} degrees")
