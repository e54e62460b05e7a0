"""What a link graph's scores mean: communities and their energy, promotion, changes, damping ("Inside PageRank", 2005).

Everything here takes a graph and the scores of Eq. 2, x* = d W x* + (1 - d), which are computed elsewhere; whatever
depends on a community alone is solved here, on that community's links alone. What the paper misprints is listed in
docs/analysis.md.
"""
