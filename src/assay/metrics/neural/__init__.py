"""Neural metrics: sessions that hold a model; one pass serves all metrics. torch is imported when one opens."""
