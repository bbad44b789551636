"""What surrounds the model: bundles, hooks, loop, model clients; `seeds/` holds the starters."""
