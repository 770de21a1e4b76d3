"""No module imports another that imports it, however far around, also not for types alone."""

from __future__ import annotations

import pytest

grimp = pytest.importorskip("grimp")


def test_no_imports_go_in_a_circle():
    graph = grimp.build_graph("assay", exclude_type_checking_imports=False)
    circles = []
    for module in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            if imported == module:
                # imported by itself: a class that is pickled by its code
                continue
            back = graph.find_shortest_chain(importer=imported, imported=module, as_packages=False)
            if back is not None:
                circles.append(" -> ".join([module, *back]))
    assert circles == []
