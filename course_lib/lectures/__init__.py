"""The lectures: their systems rebuilt, and where the course shows each claim and erratum (coverage.csv)."""
