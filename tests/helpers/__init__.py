"""What several test files share: small models and data, programs that tests start, and measuring."""
