"""A simulated cluster: partitions of the real shard, on disks and a network that fail in every way, from a seed.

python -m bench.cluster                  the figures, and 10 000 crashes
python -m bench.cluster --crashes 500    fewer of them
"""
