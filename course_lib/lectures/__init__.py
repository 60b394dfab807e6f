"""The lectures: their systems reimplemented, and where each claim and erratum is covered (coverage.csv)."""
