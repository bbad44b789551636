"""Middleware that a harness may be made of; a catalog copies the files into bundles as they are."""
