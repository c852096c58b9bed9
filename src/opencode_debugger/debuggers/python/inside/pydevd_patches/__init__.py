"""Repairs of pydevd, one file each.

Other modules lean on inner parts of pydevd as well: tests/debuggers/inside/test_pydevd_names.py finds all of them.
"""
