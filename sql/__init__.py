"""What every projected table means, as SQL: `tables/`, `checks/`, and `queries/` for people."""
