"""Everything that knows torch: base model, loss mask, LoRA training, adapter conversion.

Training runs in a process of its own (`python -m pipelines.training.fit JOB`). The gate counts
tokens, and converts the base model once, in the process that asks for it.
"""
