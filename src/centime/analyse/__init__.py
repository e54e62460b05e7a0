"""The analysis of scores: communities and their energy, promotion, changes, damping ("Inside PageRank", 2005).

All functions take a graph and its scores of Eq. 2, x* = d W x* + (1 - d), which `rank` computes. Quantities of one
community are computed from the links of that community alone. docs/analysis.md lists the misprints of the paper.
"""
