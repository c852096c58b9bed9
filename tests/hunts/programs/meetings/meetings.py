"""Reads the meetings of a day from a calendar's export."""

from parse import parse

EXPORTED = """\
9/3/2017 9:30 AM Stand-up
9/3/2017 11:00 AM Review
9/3/2017 12:15 PM Lunch with Ada
9/3/2017 2:00 PM Planning
"""

for line in EXPORTED.splitlines():
    found = parse("{when:tg} {title}", line)
    print(found["when"], found["title"])
