"""Run folders as one self-contained HTML page: tables, figures, and every pair to look at."""

from assay.reports.page.render import page_html, write_page

__all__ = ["page_html", "write_page"]
