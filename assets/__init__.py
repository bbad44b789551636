"""Dagster: every table an asset of the same name, every stage a step, and what starts them."""
