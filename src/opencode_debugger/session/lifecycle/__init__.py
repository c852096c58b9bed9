"""From the launch or attach of a program to its end, children included."""
