"""Everything that knows torch: base model, loss mask, LoRA training, adapter conversion.

It runs in a process of its own (`python -m pipelines.training.fit JOB`), so that nothing else pays
for its imports or shares its memory.
"""
