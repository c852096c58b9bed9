"""Shows values of the program as bounded texts, rows and pages."""
