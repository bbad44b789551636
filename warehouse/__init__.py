"""What is known and how it is kept: events, ids, errors, contracts; log, tables, projections."""
