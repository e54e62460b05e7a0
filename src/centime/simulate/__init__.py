"""Reading policies beside each other over one history of changes, without the network: ours, the paper's, other
crawlers', the oracle's.
"""
