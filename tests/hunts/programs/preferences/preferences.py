"""Keeps the preferences that were used last, and saves them."""

import json

from boltons.cacheutils import LRU

SAVED = {f"window {number}": [10 * number, 20 * number, 640, 480] for number in range(40)}
CHANGED = {"window 3": [0, 0, 800, 600], "theme": "dark", "zoom": 1.5}

preferences = LRU(max_size=100, values={**SAVED, "theme": "light", "volume": 7})
for name, value in CHANGED.items():
    preferences[name] = value
print("shown:", preferences["theme"])
print("saved:", json.loads(json.dumps(preferences))["theme"])
