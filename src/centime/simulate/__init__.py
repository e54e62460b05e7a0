"""Simulated refresh policies over one history of changes, without the network: ours, the paper's, those of other
crawlers, and the oracle.
"""
