"""What came out: rows become cells, intervals, verdicts on printed numbers and on claims."""
