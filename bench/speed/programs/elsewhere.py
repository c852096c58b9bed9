"""Has breakpoints that are in another file than the work; every program imports it, none calls it."""


def never_called():
    return "nothing"  # @elsewhere
