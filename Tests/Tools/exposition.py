#!/usr/bin/python3
"""Reads a file of Prometheus metrics as its collectors do, and prints each name and its value, sorted."""
import sys

from prometheus_client.parser import text_string_to_metric_families

with open(sys.argv[1]) as file:
    for family in sorted(text_string_to_metric_families(file.read()), key=lambda family: family.name):
        for sample in family.samples:
            print(sample.name, sample.value)
