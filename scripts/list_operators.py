"""Prints the table of the operators of the ONNX standard, from the definitions in the onnx wheel of the Python that runs it.

    python scripts/list_operators.py > crates/frontend/src/import/onnx/operators.txt

One line an operator: its domain (`ai.onnx` for the default one), its name, and the versions of its operator set at which it got another
definition; a version that took it away has a minus sign.
"""

import collections

import onnx
from onnx import defs

DEFAULT = "ai.onnx"


def table():
    """The lines of the table, those of the default domain first, then by domain and name."""
    versions = collections.defaultdict(dict)
    for schema in defs.get_all_schemas_with_history():
        versions[schema.domain or DEFAULT, schema.name][schema.since_version] = schema.deprecated
    for (domain, name), changes in sorted(versions.items(), key=lambda entry: (entry[0][0] != DEFAULT, entry[0])):
        marked = []
        for index, (version, deprecated) in enumerate(sorted(changes.items())):
            # A first definition that is marked deprecated, as that of GroupNormalization, still is one.
            marked.append(f"{version}-" if deprecated and index > 0 else f"{version}")
        yield f"{domain} {name} {' '.join(marked)}"


def newest():
    """The newest version of each domain that the wheel describes: a domain, a number."""
    found = collections.defaultdict(int)
    for schema in defs.get_all_schemas_with_history():
        domain = schema.domain or DEFAULT
        found[domain] = max(found[domain], schema.since_version)
    found[DEFAULT] = max(found[DEFAULT], defs.onnx_opset_version())
    return found


if __name__ == "__main__":
    print(f"# The operators of the ONNX standard, from onnx.defs of onnx {onnx.__version__} (Apache-2.0); scripts/list_operators.py writes this.")
    print("# Domain, name, and the versions of the operator set at which the definition changed; a minus sign took the operator away.")
    for domain, version in sorted(newest().items()):
        print(f"! {domain} {version}")
    print("\n".join(table()))
