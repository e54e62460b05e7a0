"""Did a page change? Compares the words of a read with those of the last one, and learns which parts are volatile.

Values in, values out: no I/O, and time is an argument. `reading.py` compares one page, `lesson.py` learns from two
reads
moments apart, `noise.py` from all reads of a host.
"""
