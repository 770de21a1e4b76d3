"""Run folders as one self-contained HTML page: tables, figures, and every pair to look at."""
