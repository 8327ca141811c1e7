#!/usr/bin/python3
"""Renders the value templates of sensors over a state, as Home Assistant does.

Standard input is JSON: {"components": {NAME: {"value_template": TEXT}}, "state": STATE}.
The output is an object of the values by NAME.
"""
import json
import sys

import jinja2.sandbox

given = json.load(sys.stdin)
environment = jinja2.sandbox.ImmutableSandboxedEnvironment()
values = {
    name: environment.from_string(component["value_template"]).render(value_json=given["state"])
    for name, component in given["components"].items()
}
json.dump(values, sys.stdout)
