"""Neural metrics: sessions that keep a model in memory, in which one pass serves all metrics.

torch is imported when a session opens.
"""
