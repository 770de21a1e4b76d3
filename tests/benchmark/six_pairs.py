"""Six labelled pairs, and one number of the table of a run."""

from __future__ import annotations

ROWS = [
    {"reference": "Berlin", "candidate": "berlin", "label": 2},
    {"reference": "Berlin", "candidate": "Munich", "label": 0},
    {"reference": "the NFL", "candidate": "National Football League", "label": 2},
    {"reference": "1945", "candidate": "in 1945", "label": 2},
    {"reference": "blue", "candidate": "light blue", "label": 1},
    {"reference": "blue", "candidate": "red", "label": 0},
]


def value(result, metric, statistic="spearman", bucket="all"):
    table = result.agreement
    row = table[(table.metric == metric) & (table.statistic == statistic) & (table.bucket == bucket)]
    assert len(row) == 1
    return row.iloc[0]
